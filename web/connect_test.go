package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// odd names and URLs that a surface never has, and that must not hurt.
var oddPages = []ConnectPage{
	{ServerName: "acme", ResourceURL: "https://mcp.example.test/acme/mcp", Ways: Ways{Open: true}},
	{ServerName: "acme-reports", ResourceURL: "http://localhost:8080/acme/reports/mcp"},
	{ServerName: `a "b" 'c' $(d) \e` + "`f`", ResourceURL: `https://mcp.example.test/a'b/"c"?x=1&y=<z>+%20`},
	{ServerName: "größe 漢字 🙂", ResourceURL: "https://mcp.example.test/größe/mcp"},
}

func render(t *testing.T, page templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := page.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCursorLinkCarriesNameAndServer(t *testing.T) {
	t.Parallel()
	for _, p := range oddPages {
		u, err := url.Parse(string(cursorLink(p)))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(u.Query().Get("config"))
		if err != nil {
			t.Fatal(err)
		}
		var got server
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if u.Scheme != "cursor" || u.Host != "anysphere.cursor-deeplink" || u.Path != "/mcp/install" || u.Query().Get("name") != p.ServerName || got.URL != p.ResourceURL {
			t.Errorf("%s: name %q, server %s", u, u.Query().Get("name"), raw)
		}
		if strings.Contains(u.RawQuery, "+") {
			t.Errorf("%s: a plus is a space to some and a plus to others", u)
		}
	}
}

func TestVSCodeLinksCarryTheServer(t *testing.T) {
	t.Parallel()
	for _, p := range oddPages {
		for _, scheme := range []string{vscode, vscodeInsiders} {
			escaped, ok := strings.CutPrefix(string(vscodeLink(p, scheme)), scheme+":mcp/install?")
			if !ok {
				t.Fatalf("link %s", vscodeLink(p, scheme))
			}
			raw, err := url.PathUnescape(escaped) // as decodeURIComponent: a plus stays a plus
			if err != nil {
				t.Fatal(err)
			}
			var got server
			if err := json.Unmarshal([]byte(raw), &got); err != nil {
				t.Fatal(err)
			}
			if got.Name != p.ServerName || got.Type != "http" || got.URL != p.ResourceURL {
				t.Errorf("server %+v", got)
			}
		}
	}
}

func TestConfigurationFilesNameTheServer(t *testing.T) {
	t.Parallel()
	for _, p := range oddPages {
		for text, check := range map[string]func(map[string]map[string]server) bool{
			claudeCodeConfig(p): func(c map[string]map[string]server) bool {
				s := c["mcpServers"][p.ServerName]
				return s.Type == "http" && s.URL == p.ResourceURL
			},
			cursorConfig(p): func(c map[string]map[string]server) bool { return c["mcpServers"][p.ServerName].URL == p.ResourceURL },
			vscodeConfig(p): func(c map[string]map[string]server) bool {
				s := c["servers"][p.ServerName]
				return s.Type == "http" && s.URL == p.ResourceURL
			},
			geminiConfig(p): func(c map[string]map[string]server) bool {
				return c["mcpServers"][p.ServerName].HTTPURL == p.ResourceURL
			},
			remoteConfig(p): func(c map[string]map[string]server) bool {
				s := c["mcpServers"][p.ServerName]
				return s.Command == "npx" && strings.Join(s.Args, "\n") == "-y\nmcp-remote\n"+p.ResourceURL+"\n--auth-timeout\n300"
			},
		} {
			var config map[string]map[string]server
			if err := json.Unmarshal([]byte(text), &config); err != nil || !check(config) {
				t.Errorf("%v: %s", err, text)
			}
		}
	}
	if got := codexConfig(oddPages[0]); got != "[mcp_servers.acme]\nurl = \"https://mcp.example.test/acme/mcp\"" {
		t.Errorf("codex: %s", got)
	}
	if got := codexConfig(oddPages[2]); !strings.HasPrefix(got, `[mcp_servers."a \"b\" 'c'`) {
		t.Errorf("codex: %s", got)
	}
}

func TestConfigurationFilesWithAKeyNameWhereItIs(t *testing.T) {
	t.Parallel()
	for i, p := range oddPages {
		variable := []string{"ACME_KEY", "ACME_REPORTS_KEY", "A", "GR"}[i]
		if !strings.HasPrefix(keyVariable(p), variable) {
			t.Errorf("%q: %s", p.ServerName, keyVariable(p))
		}
		for text, want := range map[string]string{
			claudeCodeKeyConfig(p): "Bearer ${" + keyVariable(p) + "}", cursorKeyConfig(p): "Bearer ${env:" + keyVariable(p) + "}",
			geminiKeyConfig(p): "Bearer ${" + keyVariable(p) + "}", vscodeKeyConfig(p): "Bearer ${input:mcp-key}",
		} {
			var config struct {
				MCPServers, Servers map[string]server
				Inputs              []asked
			}
			if err := json.Unmarshal([]byte(text), &config); err != nil {
				t.Fatal(err)
			}
			one := config.MCPServers[p.ServerName]
			if config.Servers != nil {
				one = config.Servers[p.ServerName]
				if len(config.Inputs) != 1 || config.Inputs[0].ID != "mcp-key" || !config.Inputs[0].Password {
					t.Errorf("inputs %+v", config.Inputs)
				}
			}
			if one.URL+one.HTTPURL != p.ResourceURL || one.Headers["Authorization"] != want {
				t.Errorf("%s, want %s", text, want)
			}
		}
		var remote map[string]map[string]server
		if err := json.Unmarshal([]byte(remoteKeyConfig(p)), &remote); err != nil {
			t.Fatal(err)
		}
		if s := remote["mcpServers"][p.ServerName]; strings.Join(s.Args[2:], "\n") != p.ResourceURL+"\n--header\nAuthorization:${AUTH_HEADER}" || s.Env["AUTH_HEADER"] != "Bearer YOUR_KEY" {
			t.Errorf("%+v", s)
		}
	}
	if got := codexKeyConfig(oddPages[0]); got != "[mcp_servers.acme]\nurl = \"https://mcp.example.test/acme/mcp\"\nbearer_token_env_var = \"ACME_KEY\"" {
		t.Errorf("codex: %s", got)
	}
	for name, want := range map[string]string{"": "MCP_KEY", "漢字": "MCP_KEY", "3com": "MCP_KEY", "crm": "CRM_KEY", "$(rm)": "RM_KEY"} {
		if got := keyVariable(ConnectPage{ServerName: name}); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}

// TestCommandsReachTheProgramAsMeant lets a real shell read them.
func TestCommandsReachTheProgramAsMeant(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell on this machine")
	}
	for _, p := range oddPages {
		for command, want := range map[string][]string{
			claudeCodeCommand(p): {"mcp", "add", "--transport", "http", p.ServerName, p.ResourceURL},
			codexCommand(p):      {"mcp", "add", p.ServerName, "--url", p.ResourceURL},
			codexSignIn(p):       {"mcp", "login", p.ServerName},
			geminiCommand(p):     {"mcp", "add", "--transport", "http", p.ServerName, p.ResourceURL},
			vscodeCommand(p):     {"--add-mcp", vscodeServer(p)},
			inspectorCommand(p):  {"@modelcontextprotocol/inspector", "--cli", "--transport", "http", "--server-url", p.ResourceURL, "--method", "tools/list"},

			keyExport(p) + "; " + claudeCodeKeyCommand(p): {"mcp", "add", "--transport", "http", p.ServerName, p.ResourceURL, "--header", "Authorization: Bearer YOUR_KEY"},
			codexKeyCommand(p):                            {"mcp", "add", p.ServerName, "--url", p.ResourceURL, "--bearer-token-env-var", keyVariable(p)},
			geminiKeyCommand(p):                           {"mcp", "add", "--transport", "http", "--header", "Authorization: Bearer ${" + keyVariable(p) + "}", p.ServerName, p.ResourceURL},
			keyExport(p) + "; " + inspectorKeyCommand(p):  {"@modelcontextprotocol/inspector", "--cli", "--transport", "http", "--server-url", p.ResourceURL, "--method", "tools/list", "--header", "Authorization: Bearer YOUR_KEY"},
		} {
			script := `show() { for word; do printf '%s\n' "$word"; done; }; claude() { show "$@"; }; codex() { show "$@"; }; gemini() { show "$@"; }; code() { show "$@"; }; npx() { show "$@"; }; ` + command
			out, err := exec.Command(shell, "-c", script).Output()
			if err != nil || string(out) != strings.Join(want, "\n")+"\n" {
				t.Errorf("%s gives %q (%v)", command, out, err)
			}
		}
	}
}

func hostilePage() ConnectPage {
	p := ConnectPage{
		Title: `<script>alert(1)</script>` + "\u202e" + strings.Repeat("long ", 2000), ServerName: "acme", ResourceURL: oddPages[2].ResourceURL,
		Ways:  Ways{SignIn: true, Key: true, Bearer: true, Open: true, OpenCalls: 60, OpenSeconds: 60, Issuer: strings.Repeat(`"><script>alert(5)</script>`, 50), Documentation: "javascript:alert(6)"},
		State: tenants.StateLive, Client: `"><svg onload=alert(2)>`,
	}
	for i := range 200 {
		p.Tools = append(p.Tools, ConnectTool{
			Title:       strings.Repeat(`"<img src=x onerror=alert(3)>`+"\u2066", 400),
			Description: strings.Repeat("<svg><script>alert(4)</script></svg>", 300),
			ReadOnly:    i%2 == 0, Destructive: i%3 == 0,
		})
		if i < 20 {
			p.Prompts = append(p.Prompts, p.Tools[i])
		}
	}
	return p
}

func TestConnectPageShowsHostileTextAsText(t *testing.T) {
	t.Parallel()
	for _, tools := range []int{1, 40, 200} {
		p := hostilePage()
		p.Tools = p.Tools[:tools]
		page := render(t, Connect(p))
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		scripts := 0
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "script":
				scripts++
			case "svg", "img", "iframe", "style":
				t.Errorf("the page has an element %s", n.Data)
			}
			for _, a := range n.Attr {
				if a.Key == "href" && strings.HasPrefix(a.Val, "javascript:") {
					t.Errorf("a link leads to %s", a.Val)
				}
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
					t.Errorf("the page has an attribute %s", a.Key)
				}
			}
		}
		if scripts != 1 {
			t.Errorf("%d scripts, want the copy button's", scripts)
		}
		if strings.ContainsAny(page, "\u202e\u2066") {
			t.Error("the page holds characters that turn text around")
		}
		if len(page) > 150_000 { // of nothing but quotes and angle brackets; see the next test for a sound one
			t.Errorf("%d bytes with %d hostile tools", len(page), tools)
		}
	}
}

func TestConnectPageOfTwoHundredToolsIsSmall(t *testing.T) {
	t.Parallel()
	p := oddPages[0]
	p.Title, p.SignIn = "Acme", true
	for i := range 200 {
		p.Tools = append(p.Tools, ConnectTool{Title: fmt.Sprintf("%03d %s", i, strings.Repeat("a", 96)), Description: strings.Repeat("d", 2000), ReadOnly: true})
	}
	if page := render(t, Connect(p)); len(page) > 60_000 || !strings.Contains(page, "199 aaa") {
		t.Errorf("%d bytes", len(page))
	}
}

func TestOftenReadsAsPeopleSayIt(t *testing.T) {
	t.Parallel()
	for want, rate := range map[string][2]int{
		"60 calls a minute": {60, 60}, "1 call a second": {1, 1}, "1,000 calls an hour": {1000, 3600}, "5 calls a day": {5, 86400}, "60 calls in 5 minutes": {60, 300},
		"2 calls in 90 seconds": {2, 90}, "9 calls in 12 hours": {9, 43200},
	} {
		if got := often(rate[0], rate[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestConnectPageSaysHowTheSurfaceStands(t *testing.T) {
	t.Parallel()
	page := func(edit func(*ConnectPage)) string {
		p := oddPages[0]
		p.Title, p.State, p.Ways = "Acme", tenants.StateLive, Ways{SignIn: true}
		p.Tools = []ConnectTool{{Title: "List customers", ReadOnly: true}, {Title: "Archive a customer", Destructive: true}}
		edit(&p)
		return render(t, Connect(p))
	}
	for name, tc := range map[string]struct {
		edit func(*ConnectPage)
		has  []string
		not  []string
	}{
		"live":      {func(*ConnectPage) {}, []string{"your Acme account", "deletes or overwrites", "It can change", "/mcp auth acme"}, []string{"Paused", "Read-only for now", "Switched off"}},
		"paused":    {func(p *ConnectPage) { p.State = tenants.StatePaused }, []string{"Paused.", "Wait until it is back"}, []string{"Read-only for now"}},
		"read only": {func(p *ConnectPage) { p.State = tenants.StateReadOnly }, []string{"Read-only for now.", "Switched off for now"}, []string{"Paused."}},
		"public":    {func(p *ConnectPage) { p.SignIn, p.Open = false, true }, []string{"No sign-in is needed", "Choose no authentication, then", "Choose no authentication where"}, []string{"A browser opens", "/mcp auth", "Choose OAuth"}},
		"both":      {func(p *ConnectPage) { p.Open = true }, []string{"Part of it needs no sign-in"}, nil},
		"public, bounded": {func(p *ConnectPage) { p.Ways = Ways{Open: true, OpenCalls: 60, OpenTotal: 6000, OpenSeconds: 60} },
			[]string{"No sign-in is needed", "From one network address 60 calls a minute, and 6,000 from all together."}, []string{"<dt>Sign-in</dt>", "With a key"}},
		"issuer": {func(p *ConnectPage) { p.Issuer = "login.example.com" }, []string{"You sign in at login.example.com", "sign in at login.example.com and allow"}, []string{"your Acme account", "As you, within"}},
		"key": {func(p *ConnectPage) { p.Ways = Ways{Key: true} },
			[]string{"Give this address and a key", "Authorization: Bearer chk_…", "ChatGPT cannot send a key", "Claude cannot send a key", "export ACME_KEY=YOUR_KEY", "~/.cursor/mcp.json", "--bearer-token-env-var ACME_KEY"},
			[]string{"With a key", "A browser opens", "Add custom connector", "Add to Cursor", "No sign-in"}},
		"app's keys": {func(p *ConnectPage) { p.Ways = Ways{Key: true, AppKeys: true} }, []string{"Authorization: Bearer YOUR_KEY"}, []string{"chk_"}},
		"sign-in and key": {func(p *ConnectPage) { p.Ways = Ways{SignIn: true, Key: true} },
			[]string{"your Acme account", "<summary>With a key</summary>", "Cursor signs in wherever that is offered", "Add custom connector", "<dt>Sign-in</dt>", "<dt>Key</dt>"}, []string{"<dt>Open</dt>", "<dt>Session</dt>", "${env:"}},
		"key and public": {func(p *ConnectPage) { p.Ways = Ways{Key: true, Open: true} },
			[]string{"Part of it needs no sign-in", "Choose no authentication", "<summary>With a key</summary>", "Some tools need none of these", "${env:ACME_KEY}"}, []string{"A browser opens"}},
		"bearer": {func(p *ConnectPage) { p.Ways = Ways{Bearer: true} },
			[]string{"for agents inside Acme", "your backend sends the user’s session token", "There is nothing to add"}, []string{"How to add it", "A browser opens", "chk_", "No sign-in"}},
		"bearer and sign-in": {func(p *ConnectPage) { p.Bearer = true }, []string{"your Acme account", "For agents inside the app", "How to add it"}, []string{"There is nothing to add"}},
		"documented":         {func(p *ConnectPage) { p.Documentation = "https://example.com/docs" }, []string{`href="https://example.com/docs"`}, nil},
		"empty":              {func(p *ConnectPage) { p.Tools = nil }, []string{"Nothing is offered"}, nil},
		"one open":           {func(p *ConnectPage) { p.Client = "cursor" }, []string{`value="cursor" checked`}, []string{`value="claude" checked`}},
		"unknown":            {func(p *ConnectPage) { p.Client = "netscape" }, []string{`value="claude" checked`}, nil},
	} {
		text := page(tc.edit)
		for _, want := range tc.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
		for _, not := range tc.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: says %q", name, not)
			}
		}
	}
}

// TestEveryClientHasATabAndAPanel: the style sheet names each of them.
func TestEveryClientHasATabAndAPanel(t *testing.T) {
	t.Parallel()
	css, err := static.ReadFile("static/components.css")
	if err != nil {
		t.Fatal(err)
	}
	page := render(t, Connect(oddPages[0]))
	for _, c := range connectClients {
		if strings.Count(page, `data-client="`+c.ID+`"`) != 1 || !strings.Contains(page, ">"+c.Name+"<") {
			t.Errorf("%s has no panel or no tab", c.Name)
		}
		if !strings.Contains(string(css), `[value="`+c.ID+`"]:checked`) {
			t.Errorf("the style sheet never shows the panel of %s", c.Name)
		}
	}
}
