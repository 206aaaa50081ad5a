-- Table: sign_in_settings, how a project's people sign in through the bridge.
-- All of these run as chumbo_app. A project without a row has the defaults.

-- name: GetSignInSettings :one
select method, client_id, client_secret, client_source, client_redirect, captcha_provider, captcha_site_key, captcha_needed, updated_at
from sign_in_settings where organization_id = @organization_id and project_id = @project_id;

-- name: ProjectStands :one
select exists (select from projects where organization_id = @organization_id and id = @id);

-- name: ChangeSignInSettings :exec
-- Null leaves as it is.
insert into sign_in_settings as t (organization_id, project_id, method, captcha_provider, captcha_site_key, updated_at)
values (@organization_id, @project_id, coalesce(sqlc.narg(method)::text, 'auto'), coalesce(sqlc.narg(captcha_provider)::text, ''),
    coalesce(sqlc.narg(captcha_site_key)::text, ''), @now)
on conflict (organization_id, project_id) do update set
    method = coalesce(sqlc.narg(method)::text, t.method),
    captcha_provider = coalesce(sqlc.narg(captcha_provider)::text, t.captcha_provider),
    captcha_site_key = coalesce(sqlc.narg(captcha_site_key)::text, t.captcha_site_key),
    updated_at = @now;

-- name: PutSignInClient :exec
-- Our client of the project as its builder pasted it; an empty one is none.
insert into sign_in_settings as t (organization_id, project_id, client_id, client_secret, client_source, client_redirect, updated_at)
values (@organization_id, @project_id, @client_id, @client_secret, @client_source, @client_redirect, @now)
on conflict (organization_id, project_id) do update set
    client_id = @client_id, client_secret = @client_secret, client_source = @client_source, client_redirect = @client_redirect,
    registering_until = null, updated_at = @now;

-- name: LeaseSignInRegistration :execrows
-- Whoever gets the one row registers our client. 0 rows while somebody else
-- does, and when there is one with this redirect URI, or a pasted one.
insert into sign_in_settings as t (organization_id, project_id, registering_until, updated_at)
values (@organization_id, @project_id, @until, @now)
on conflict (organization_id, project_id) do update set registering_until = @until
where (t.client_id = '' or t.client_source = 'registered' and t.client_redirect <> @client_redirect::text)
    and (t.registering_until is null or t.registering_until <= @now);

-- name: KeepRegisteredClient :execrows
-- By the holder of the lease, unless somebody pasted a client meanwhile.
update sign_in_settings set client_id = @client_id, client_secret = @client_secret, client_source = 'registered',
    client_redirect = @client_redirect, registering_until = null, updated_at = @now
where organization_id = @organization_id and project_id = @project_id and registering_until = @until and client_source <> 'pasted';

-- name: EndSignInRegistration :exec
update sign_in_settings set registering_until = null
where organization_id = @organization_id and project_id = @project_id and registering_until = @until;

-- name: ForgetRegisteredClient :execrows
-- The project no longer knows it. A pasted one stays: it is the builder's to mend.
update sign_in_settings set client_id = '', client_secret = null, client_source = '', client_redirect = '', updated_at = @now
where organization_id = @organization_id and project_id = @project_id and client_id = @client_id and client_source = 'registered';

-- name: ForgetSignInClient :exec
-- The project is another one from now on: our client of the one before and its
-- secret are not for it. Whoever registers one there has lost the lease.
update sign_in_settings set client_id = '', client_secret = null, client_source = '', client_redirect = '', captcha_needed = false,
    registering_until = null, updated_at = @now
where organization_id = @organization_id and project_id = @project_id;

-- name: SetCaptchaNeeded :exec
insert into sign_in_settings as t (organization_id, project_id, captcha_needed, updated_at)
values (@organization_id, @project_id, true, @now)
on conflict (organization_id, project_id) do update set captcha_needed = true where not t.captcha_needed;

-- name: SetCaptchaUnneeded :exec
update sign_in_settings set captcha_needed = false
where organization_id = @organization_id and project_id = @project_id and captcha_needed;
