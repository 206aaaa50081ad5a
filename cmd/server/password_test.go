package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var printedPassword = regexp.MustCompile(`(?m)^  ([A-Z2-7]{26})$`)

func TestSetPasswordLetsABuilderIn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.ready(t)
	signIn := func(password string) error {
		cfg, err := app.LoadConfig(i.environ)
		if err != nil {
			t.Fatal(err)
		}
		server, err := app.NewServer(t.Context(), cfg, options(cfg, t.Output()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close(context.WithoutCancel(t.Context())) }()
		_, err = server.Tenants.SignIn(t.Context(), tenants.SignIn{Email: "alice@example.test", Password: seal.NewSecret(password), Address: "192.0.2.1"})
		return err
	}
	var before string
	for range 2 {
		out, err := i.command(t, i.environ, "set-password", "-email", "alice@example.test")
		found := printedPassword.FindStringSubmatch(out)
		if err != nil || found == nil {
			t.Fatalf("set-password: %v, %q", err, out)
		}
		if err := signIn(found[1]); err != nil {
			t.Errorf("sign in with the printed password: %v", err)
		}
		if before == found[1] || before != "" && signIn(before) == nil {
			t.Error("the password before still lets in")
		}
		before = found[1]
	}
	for _, args := range [][]string{{}, {"-email", "nobody@example.test"}, {"-email", "alice@example.test", "hunter22"}} {
		if out, err := i.command(t, i.environ, append([]string{"set-password"}, args...)...); err == nil || strings.Contains(out, "password, shown once") {
			t.Errorf("set-password %q: %v, %q", args, err, out)
		}
	}
}
