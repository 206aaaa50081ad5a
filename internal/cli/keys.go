package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type keyFlags struct {
	name    string
	scopes  []string
	expires string
}

func keysCommand(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "List, make and revoke the keys that applications call a surface with",
		Long: `List, make and revoke the keys that applications call a surface with: an
application of yours without a person, where api-key is among access.mode of the
surface file. Calls with a key run as anon, never as one of your users.

A key is shown once, when it is made, and kept nowhere by this command.`,
		Args: cobra.NoArgs,
	}
	surface := c.PersistentFlags().String("surface", "", "the surface; may be left out where the project has only one")
	var all bool
	c.RunE = func(cmd *cobra.Command, _ []string) error { return s.listKeys(cmd.Context(), *surface, all) }
	c.Flags().BoolVar(&all, "all", false, "revoked ones, too")
	list := &cobra.Command{
		Use: "list", Short: "List the keys of a surface, newest first", Args: asUsage(cobra.NoArgs), RunE: c.RunE,
	}
	list.Flags().BoolVar(&all, "all", false, "revoked ones, too")
	var f keyFlags
	create := &cobra.Command{
		Use: "create", Short: "Make a key; it is shown only now", Args: asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.createKey(cmd.Context(), *surface, f) },
	}
	create.Flags().StringVar(&f.name, "name", "", "what uses it, such as nightly-sync")
	create.Flags().StringSliceVar(&f.scopes, "scopes", nil, "scopes of the capabilities it may use, as crm.read,crm.write; without any, those that ask for none")
	create.Flags().StringVar(&f.expires, "expires", "", "when it ends: 90d, 12h, or a time such as 2027-01-31T12:00:00Z (default: never)")
	revoke := &cobra.Command{
		Use: "revoke key", Short: "Revoke a key by its id (key_…): it is refused at once", Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.revokeKey(cmd.Context(), *surface, strings.Join(args, ""))
		},
	}
	c.AddCommand(list, create, revoke)
	return c
}

// key is a key as the control API lists it.
type key struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	State      string     `json:"state"`
	Hint       string     `json:"hint"`
	Scopes     []string   `json:"scopes"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	RevokedAt  *time.Time `json:"revoked_at,omitempty"`
}

type keysAnswer struct {
	Keys      []key  `json:"keys"`
	NextAfter string `json:"next_after"`
}

const (
	keyPrefix   = "chk_" // of a key itself
	keyIDPrefix = "key_" // of its id
	maxKeyPages = 20
)

func (s *session) listKeys(ctx context.Context, slug string, all bool) error {
	w, have, err := s.linkedSurface(ctx, slug)
	if err != nil {
		return err
	}
	keys, revoked := []key{}, 0
	after := ""
	for range maxKeyPages {
		var page keysAnswer
		if err := w.client.do(ctx, http.MethodGet, w.surface(have.Slug)+"/keys"+after, nil, &page); err != nil {
			return err
		}
		for _, one := range page.Keys {
			if one.State == "revoked" && !all {
				revoked++
				continue
			}
			keys = append(keys, one)
		}
		if page.NextAfter == "" {
			break
		}
		after = "?after=" + url.QueryEscape(page.NextAfter)
	}
	s.printer.data = map[string]any{"surface": have.Slug, "keys": keys}
	for _, one := range keys {
		s.printer.step(step{ID: one.ID, Status: first(keyMarks[one.State], "warn"), Message: one.ID + "  " + one.String()})
	}
	if len(keys) == 0 {
		s.printer.done(have.Slug, "surface %s has no key in force", have.Slug)
	}
	if revoked > 0 {
		s.printer.line("Not shown: %s. See them with chumbo keys list --all", counted(revoked, "revoked key"))
	}
	return nil
}

var keyMarks = map[string]string{"live": "pass", "expired": "warn", "revoked": "skip"}

// String says what a key is and when it was used, in one line.
func (k key) String() string {
	if k.LastUsedAt == nil {
		return k.what() + "; never used"
	}
	return k.what() + "; last used " + minute(*k.LastUsedAt)
}

func (k key) what() string {
	parts := []string{k.Name + ", ends in " + k.Hint, first(strings.Join(k.Scopes, " "), "no scopes")}
	switch {
	case k.RevokedAt != nil:
		parts = append(parts, "revoked "+minute(*k.RevokedAt))
	case k.ExpiresAt != nil && k.State == "expired":
		parts = append(parts, "expired "+minute(*k.ExpiresAt))
	case k.ExpiresAt != nil:
		parts = append(parts, "expires "+minute(*k.ExpiresAt))
	}
	return strings.Join(parts, "; ")
}

func minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

func (s *session) createKey(ctx context.Context, slug string, f keyFlags) error {
	if f.name == "" {
		return usage("what is the key for? Say --name, such as --name nightly-sync")
	}
	until, err := s.expiry(f.expires)
	if err != nil {
		return err
	}
	w, have, err := s.linkedSurface(ctx, slug)
	if err != nil {
		return err
	}
	body := map[string]any{"name": f.name, "scopes": listed(f.scopes)}
	if !until.IsZero() {
		body["expires_at"] = until.UTC().Format(time.RFC3339)
	}
	var made struct {
		Key string `json:"key"`
		key
	}
	if err := w.client.do(ctx, http.MethodPost, w.surface(have.Slug)+"/keys", body, &made); err != nil {
		return err
	}
	if !strings.HasPrefix(made.Key, keyPrefix) {
		return errors.New("the server answered without a key")
	}
	s.printer.data = map[string]any{
		"surface": have.Slug, "id": made.ID, "key": made.Key, "name": made.Name, "scopes": listed(made.Scopes), "expires_at": made.ExpiresAt, "urls": listed(have.URLs),
	}
	s.printer.done(have.Slug, "made %s for surface %s: %s", made.ID, have.Slug, made.what())
	s.printer.line("")
	s.printer.line("      %s", made.Key)
	s.printer.line("")
	s.printer.line("It is shown only now: keep it where the application keeps its secrets. With every request to")
	s.printer.line("%s send", first(strings.Join(have.URLs[:min(1, len(have.URLs))], ""), "the surface"))
	s.printer.line("")
	s.printer.line("      Authorization: Bearer chk_…")
	s.printer.line("")
	s.warnOfMode(ctx, w, have)
	return nil
}

// Ways in, as access.mode names them.
const (
	modeOAuth  = "oauth"
	modeKey    = "api-key"
	modePublic = "public"
)

// access is what a revision says of who may call, as far as advice goes by it.
type access struct {
	Modes  []string `json:"modes"`
	Issuer struct {
		Introspection *struct{} `json:"introspection"`
	} `json:"issuer"`
}

// access is that of a revision; the zero one of revision 0.
func (w *workplace) access(ctx context.Context, surface string, revision int) (access, error) {
	var published struct {
		Access access `json:"access"`
	}
	if revision == 0 {
		return access{}, nil
	}
	err := w.client.do(ctx, http.MethodGet, w.surface(surface)+"/revisions/"+strconv.Itoa(revision), nil, &published)
	return published.Access, err
}

// warnOfMode says so where what is live takes no keys. It is advice: when it
// cannot be told, nothing is said.
func (s *session) warnOfMode(ctx context.Context, w *workplace, have surface) {
	live, err := w.access(ctx, have.Slug, have.LiveRevision)
	if err != nil || slices.Contains(live.Modes, modeKey) {
		return
	}
	s.printer.step(step{
		ID: have.Slug + ":mode", Status: "warn", Message: "what is live of surface " + have.Slug + " takes no keys yet",
		Fix: "add api-key to access.mode in " + fileOf(have.Slug).path + ", then chumbo push " + have.Slug,
	})
}

// expiry reads when a key ends: so many days or hours from now, or a time.
// Empty is the zero time.
func (s *session) expiry(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour}
	unit := units[text[len(text)-1]]
	n, err := strconv.Atoi(text[:len(text)-1])
	if err != nil || unit == 0 || n < 1 || n > 100_000 {
		return time.Time{}, usage("--expires is a time from now, such as 90d or 12h, or one such as 2027-01-31T12:00:00Z")
	}
	return s.env.Now().Add(time.Duration(n) * unit), nil
}

func (s *session) revokeKey(ctx context.Context, slug, id string) error {
	switch {
	case id == "":
		return usage("which key? Name its id: chumbo keys list shows them")
	case strings.HasPrefix(id, keyPrefix):
		return usage("that is the key itself, and now it may be in your shell's history. Name its id (key_…): chumbo keys list shows them")
	case !strings.HasPrefix(id, keyIDPrefix):
		return usage("that is no id of a key: it starts with key_. chumbo keys list shows them")
	}
	w, have, err := s.linkedSurface(ctx, slug)
	if err != nil {
		return err
	}
	if err := w.client.do(ctx, http.MethodDelete, w.surface(have.Slug)+"/keys/"+url.PathEscape(id), nil, nil); err != nil {
		return err
	}
	s.printer.data = map[string]any{"surface": have.Slug, "revoked": id}
	s.printer.done(have.Slug, "revoked %s: whoever calls with it is refused now", id)
	return nil
}
