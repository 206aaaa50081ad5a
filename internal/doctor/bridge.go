package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// serverDocument is what of an authorization server's metadata (RFC 8414) the
// checks read.
type serverDocument struct {
	Issuer           string   `json:"issuer"`
	Authorization    string   `json:"authorization_endpoint"`
	Token            string   `json:"token_endpoint"`
	Registration     string   `json:"registration_endpoint"`
	AuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	ChallengeMethods []string `json:"code_challenge_methods_supported"`
	ClientDocuments  bool     `json:"client_id_metadata_document_supported"`
	IssInResponse    bool     `json:"authorization_response_iss_parameter_supported"`
	Scopes           []string `json:"scopes_supported"`
}

// bridge looks at a surface that is its own authorization server: its metadata
// has to be at each of the four places where clients look, and to say what
// makes them go on. The server writes all of it in one go, so that what is
// missing was lost in front of it.
func (v *visit) bridge(ctx context.Context, issuer string) Finding {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return Finding{Status: Fail, Summary: "The authorization server's name is not a URL.", Fix: "Correct CHUMBO_PUBLIC_URL."}
	}
	facts := map[string]string{"issuer": shown(issuer)}
	var first serverDocument
	var lost []string
	for i, address := range serverMetadata(u) {
		doc, err := v.serverDocument(ctx, address)
		switch {
		case err != nil:
			lost = append(lost, address+" "+err.Error())
		case doc.Issuer != issuer:
			lost = append(lost, address+" names the issuer "+shown(doc.Issuer))
		case i == 0:
			first = doc
		}
	}
	if len(lost) > 0 {
		return Finding{Status: Fail, Facts: facts,
			Summary: fmt.Sprintf("The description of the surface's own authorization server is missing at %d of the 4 places where clients look.", len(lost)),
			Detail:  strings.Join(lost, "; ") + ".",
			Fix:     "Let GET requests to paths with /.well-known/ reach the server, unchanged. If the issuer is not the URL people use, correct CHUMBO_PUBLIC_URL."}
	}
	facts["authorization_endpoint"], facts["token_endpoint"] = shown(first.Authorization), shown(first.Token)
	if missing := first.missing(); len(missing) > 0 {
		return Finding{Status: Fail, Facts: facts,
			Summary: "The surface's own authorization server does not say " + strings.Join(missing, ", nor ") + ".",
			Detail:  "Clients that look for it stop there, or fall back to what is less safe.",
			Fix:     "Take what changes the answers of /.well-known/ out of the proxy in front of the server, and bring the server up to date."}
	}
	v.server = &first
	return Finding{Status: Pass, Summary: "The surface's own: " + issuer + ", described in all 4 places.", Facts: facts}
}

// serverMetadata lists the four places: RFC 8414 and OpenID Connect Discovery,
// with the issuer's path inserted and with it in front.
func serverMetadata(issuer *url.URL) []string {
	host, path := issuer.Scheme+"://"+issuer.Host, strings.TrimSuffix(issuer.EscapedPath(), "/")
	var places []string
	for _, name := range []string{"oauth-authorization-server", "openid-configuration"} {
		places = append(places, host+"/.well-known/"+name+path, host+path+"/.well-known/"+name)
	}
	return places
}

// serverDocument reads one of them. The error says in a word what came instead.
func (v *visit) serverDocument(ctx context.Context, address string) (serverDocument, error) {
	var doc serverDocument
	p, err := v.ask(ctx, http.MethodGet, address, "chumbo-doctor", nil)
	switch {
	case err != nil:
		return doc, fmt.Errorf("does not answer")
	case p.status != http.StatusOK:
		return doc, fmt.Errorf("answers %d", p.status)
	case json.Unmarshal(p.body, &doc) != nil:
		return doc, fmt.Errorf("is not JSON")
	}
	return doc, nil
}

// missing names what real clients need to find.
func (d serverDocument) missing() []string {
	var list []string
	want := func(there bool, what string) {
		if !there {
			list = append(list, what)
		}
	}
	want(d.Authorization != "" && d.Token != "" && d.Registration != "", "where to sign in and to register")
	want(len(d.AuthMethods) > 0 && d.AuthMethods[0] == "none", "that clients without a secret come first (none)")
	want(slices.Contains(d.ChallengeMethods, "S256"), "that it takes PKCE (S256)")
	want(d.IssInResponse, "that answers name their issuer (iss, RFC 9207)")
	want(d.ClientDocuments, "that it reads client ID metadata documents")
	return list
}
