package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// probeLimit bounds how long a look at a project may take.
const probeLimit = time.Minute

func (d *dashboard) registerPage(c echo.Context) error {
	if err := principal(c).MayWrite(); err != nil {
		return err
	}
	return d.page(c, http.StatusOK, "Register a project", web.Register(web.RegisterPage{Common: d.common(c)}))
}

// beginRegistration keeps what was typed; the page that follows looks at it.
func (d *dashboard) beginRegistration(c echo.Context) error {
	r, err := d.Tenants.BeginRegistration(c.Request().Context(), principal(c), posted(c, "url"))
	if err != nil {
		form, status, ok := refusedForm(c, err, "url")
		if !ok {
			return err
		}
		return d.page(c, status, "Register a project", web.Register(web.RegisterPage{Common: d.common(c), Form: form}))
	}
	return c.Redirect(http.StatusSeeOther, "/app/register/"+r.ID.String())
}

// findRegistration finds the one that the address names.
func (d *dashboard) findRegistration(c echo.Context) (tenants.Registration, error) {
	name, err := id.Parse[id.RegistrationKind](c.Param("registration"))
	if err != nil {
		return tenants.Registration{}, echo.ErrNotFound
	}
	return d.Tenants.Registration(c.Request().Context(), principal(c), name)
}

// registration renders at once; the checks arrive by registrationEvents.
func (d *dashboard) registration(c echo.Context) error {
	r, err := d.findRegistration(c)
	if err != nil {
		return err
	}
	if r.Project != nil {
		return d.toRegistered(c, *r.Project)
	}
	return d.registrationPage(c, http.StatusOK, r, web.Form{})
}

func (d *dashboard) registrationPage(c echo.Context, status int, r tenants.Registration, form web.Form) error {
	p, err := d.registrationParts(c, r, form)
	if err != nil {
		return err
	}
	return d.page(c, status, "Register a project", web.Registration(p))
}

func (d *dashboard) registrationParts(c echo.Context, r tenants.Registration, form web.Form) (web.RegistrationPage, error) {
	findings, err := readFindings(r.Findings)
	if err != nil {
		return web.RegistrationPage{}, err
	}
	p := web.RegistrationPage{Common: d.common(c), Form: form, Registration: r, Finished: r.FinishedAt != nil, Slug: r.Slug}
	if p.Finished { // else those of the look before
		p.Findings = findings
	}
	if suggested := principal(c).Organization.Slug; p.Slug == "" && tenants.CheckProjectSlug(suggested) == nil {
		p.Slug = suggested
	}
	return p, nil
}

// toRegistered leads from a finished registration to its project.
func (d *dashboard) toRegistered(c echo.Context, project id.Project) error {
	list, err := d.Tenants.Projects(c.Request().Context(), principal(c))
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.ID == project {
			return c.Redirect(http.StatusSeeOther, web.ProjectPath(p.Slug))
		}
	}
	return fault.New(fault.NotFound, "project_unknown", "This project was registered and deleted since. Register it again.")
}

// probe looks at the project, bounded, and keeps what was found.
func (d *dashboard) probe(ctx context.Context, p tenants.Principal, r tenants.Registration, progress func(doctor.Finding)) (tenants.Registration, error) {
	if err := p.MayWrite(); err != nil {
		return r, d.Tenants.Refused(ctx, p, "registration.save", err)
	}
	limited, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	result, err := d.Builders.ProbeAgain(limited, r.TypedURL, r.PublishableKey, r.Findings, progress)
	if err != nil {
		return r, tooSlow(err)
	}
	return r, d.keepFindings(ctx, p, &r, result.Findings)
}

func (d *dashboard) keepFindings(ctx context.Context, p tenants.Principal, r *tenants.Registration, findings []doctor.Finding) error {
	raw, err := json.Marshal(findings)
	if err != nil {
		return fmt.Errorf("marshal findings: %w", err)
	}
	now := d.Now()
	r.Findings, r.FinishedAt = raw, &now
	return d.Tenants.SaveRegistration(ctx, p, *r)
}

func tooSlow(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Wrap(err, fault.Timeout, "probe_timeout", "The project took more than a minute to look at. Check that it is running, and try again.")
	}
	return err
}

// checkRegistration looks again. A page with scripts begins anew and gets the
// checks one by one; one without waits for them.
func (d *dashboard) checkRegistration(c echo.Context) error {
	r, err := d.findRegistration(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if posted(c, "live") != "" {
		r.FinishedAt = nil
		err = d.Tenants.SaveRegistration(ctx, principal(c), r)
	} else {
		_, err = d.probe(ctx, principal(c), r, nil)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/app/register/"+r.ID.String())
}

// registrationEvents runs the checks and sends each as it comes.
func (d *dashboard) registrationEvents(c echo.Context) error {
	r, err := d.findRegistration(c)
	if err != nil {
		return err
	}
	out, err := openEvents(c)
	if err != nil {
		return err
	}
	if r.FinishedAt == nil {
		r, err = d.probe(c.Request().Context(), principal(c), r, func(f doctor.Finding) { out.send("finding", web.Step(f)) })
	}
	if err != nil {
		return d.failEvents(c, out, err)
	}
	p, err := d.registrationParts(c, r, web.Form{})
	if err != nil {
		return d.failEvents(c, out, err)
	}
	for _, f := range p.Findings {
		out.send("finding", web.Step(f))
	}
	out.send("said", web.RegistrationVerdict(p))
	out.send("next", web.RegistrationNext(p))
	return out.end()
}

// register probes with the key and makes the project.
func (d *dashboard) register(c echo.Context) error {
	r, err := d.findRegistration(c)
	if err != nil {
		return err
	}
	if r.Project != nil {
		return d.toRegistered(c, *r.Project)
	}
	ctx, p := c.Request().Context(), principal(c)
	r.PublishableKey, r.Name, r.Slug = posted(c, "publishable_key"), posted(c, "name"), posted(c, "slug")
	project, err := d.registerAs(ctx, p, &r)
	if err != nil {
		var refused *builders.ProbeRefused
		if errors.As(err, &refused) {
			if err := d.keepFindings(ctx, p, &r, refused.Findings); err != nil {
				return err
			}
			return d.registrationPage(c, http.StatusUnprocessableEntity, r, web.Form{Refusal: refusedProbe})
		}
		form, status, ok := refusedForm(c, err, "publishable_key", "name", "slug")
		if !ok {
			return err
		}
		return d.registrationPage(c, status, r, form)
	}
	return done(c, web.ProjectPath(project.Slug)+"/ownership", "registered")
}

const refusedProbe = "The project cannot be registered as it is. Each broken line above says what to do."

func (d *dashboard) registerAs(ctx context.Context, p tenants.Principal, r *tenants.Registration) (tenants.Project, error) {
	if err := d.Tenants.SaveRegistration(ctx, p, *r); err != nil {
		return tenants.Project{}, onField(err, r.Slug)
	}
	limited, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	project, findings, err := d.Builders.Register(limited, p, builders.NewRegistration{
		URL: r.TypedURL, PublishableKey: r.PublishableKey, Slug: r.Slug, Name: r.Name, CheckClient: doctor.CheckClientOf(r.Findings),
	}, nil)
	if err != nil {
		return tenants.Project{}, onField(tooSlow(err), r.Slug)
	}
	r.Project = &project.ID
	return project, d.keepFindings(ctx, p, r, findings)
}

// onField says which field of a form a refusal of names is about, where the
// refusal itself names none.
func onField(err error, slug string) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Issues) > 0 {
		return err
	}
	switch f.Code {
	case "name_taken", "name_is_alias", "name_reserved":
		return f.WithIssues(fault.Issue{Path: "slug", Message: f.Message})
	case "name_invalid":
		field := "name"
		if tenants.CheckProjectSlug(slug) != nil {
			field = "slug"
		}
		return f.WithIssues(fault.Issue{Path: field, Message: f.Message})
	}
	return err
}

// eventStream sends parts of a page as server-sent events.
type eventStream struct {
	c   echo.Context
	out *http.ResponseController
}

// openEvents admits only a script of our own pages: what follows makes the
// server call a project, and no other site may cause that.
func openEvents(c echo.Context) (*eventStream, error) {
	r := c.Request()
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return nil, refusedOrigin()
	}
	if r.Header.Get("Accept") != "text/event-stream" {
		return nil, fault.New(fault.Invalid, "events", "This address is for the page that shows the checks. Open that page instead.")
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies pass each event on at once
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	s := &eventStream{c: c, out: http.NewResponseController(c.Response())}
	_ = s.out.SetWriteDeadline(time.Now().Add(2 * probeLimit)) // a recorder has none
	c.Response().WriteHeader(http.StatusOK)
	s.flush()
	return s, nil
}

// send renders a part. One that cannot be rendered or sent is left out: the
// page shows what is stored when it is opened again.
func (s *eventStream) send(name string, part templ.Component) {
	var html bytes.Buffer
	if part.Render(s.c.Request().Context(), &html) != nil {
		return
	}
	data, err := json.Marshal(html.String())
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(s.c.Response(), "event: %s\ndata: %s\n\n", name, data)
	s.flush()
}

func (s *eventStream) end() error {
	_, _ = fmt.Fprint(s.c.Response(), "event: end\ndata: \"\"\n\n")
	s.flush()
	return nil
}

func (s *eventStream) flush() { _ = s.out.Flush() }

// failEvents says in the page what went wrong, and logs what must be.
func (d *dashboard) failEvents(c echo.Context, out *eventStream, err error) error {
	if c.Request().Context().Err() != nil { // nobody is there any more
		return nil //nolint:nilerr // what was interrupted is no failure
	}
	refused := fault.From(err)
	if refused.Kind == fault.Internal {
		d.Logger.ErrorContext(c.Request().Context(), "dashboard failed", "request", requestID(c), "route", c.Path(), "cause", err.Error())
	}
	out.send("said", web.FailedVerdict(refused.Message, requestID(c)))
	return out.end()
}
