-- Table: sign_ins, browsers on their way through our pages. Those that find a
-- row run as chumbo_system and return no more than whose it is; the rest as
-- chumbo_app. Nothing changes a sign-in that has finished or run out.

-- name: InsertSignIn :exec
insert into sign_ins (organization_id, id, surface_id, project_id, url_ref, purpose, client_id, redirect_uri, state, state_given,
    code_challenge, scopes, ask, cookie_hash, created_at, expires_at)
values (@organization_id, @id, @surface_id, @project_id, @url_ref, @purpose, @client_id, @redirect_uri, @state, @state_given,
    @code_challenge, @scopes, @ask, @cookie_hash, @now, @expires_at);

-- name: FindSignIn :one
select organization_id from sign_ins where id = @id;

-- name: FindSignInByState :one
select organization_id, id from sign_ins where upstream_state = @upstream_state;

-- name: GetSignIn :one
-- With the session of who signed in, while it stands.
select s.organization_id, s.id, s.surface_id, s.project_id, s.url_ref, s.purpose, s.client_id, s.redirect_uri, s.state, s.state_given,
    s.code_challenge, s.scopes, s.ask, s.cookie_hash, s.upstream_state, s.upstream_flow, s.email, s.pending, s.ticket_key,
    s.upstream_session_id, s.expires_at, s.finished_at, u.issuer, u.subject, u.email as person_email
from sign_ins s
left join upstream_sessions u on u.organization_id = s.organization_id and u.project_id = s.project_id
    and u.id = s.upstream_session_id and u.ended_at is null
where s.organization_id = @organization_id and s.id = @id;

-- name: BeginSignInWay :execrows
-- A way to sign in was begun at the project. What another one left is gone.
update sign_ins set upstream_state = @upstream_state, upstream_flow = @upstream_flow, email = @email, pending = null, ticket_key = @ticket_key
where organization_id = @organization_id and id = @id and project_id = @project_id and finished_at is null and expires_at > @now;

-- name: TakeSignInState :execrows
-- Once: 0 rows for whoever comes second.
update sign_ins set upstream_state = null, upstream_flow = null
where organization_id = @organization_id and id = @id and project_id = @project_id and upstream_state = @upstream_state
    and finished_at is null and expires_at > @now;

-- name: SetSignInPending :execrows
-- Signed in but for the second factor; null takes it back.
update sign_ins set pending = @pending, ticket_key = @ticket_key, email = '', upstream_state = null, upstream_flow = null
where organization_id = @organization_id and id = @id and project_id = @project_id and finished_at is null and expires_at > @now;

-- name: SetSignInPerson :execrows
-- Null forgets who signed in.
update sign_ins set upstream_session_id = @upstream_session_id, pending = null, ticket_key = null, email = '',
    upstream_state = null, upstream_flow = null, hand_over = null, hand_over_until = null, hand_over_session_id = null
where organization_id = @organization_id and id = @id and project_id = @project_id and finished_at is null and expires_at > @now;

-- name: SetSignInHandOver :execrows
-- Who signed in on the project's own host, until the browser is back with the
-- secret.
update sign_ins set hand_over = @hand_over, hand_over_until = @until, hand_over_session_id = @session_id, pending = null,
    ticket_key = null, email = '', upstream_state = null, upstream_flow = null
where organization_id = @organization_id and id = @id and project_id = @project_id and finished_at is null and expires_at > @now;

-- name: TakeSignInHandOver :execrows
update sign_ins set upstream_session_id = hand_over_session_id, hand_over = null, hand_over_until = null, hand_over_session_id = null
where organization_id = @organization_id and id = @id and project_id = @project_id and hand_over = @hand_over
    and hand_over_until > @now and finished_at is null and expires_at > @now;

-- name: EndSignInsOfProject :exec
-- The project is another one from now on: what was begun at the one before,
-- half a session even, is not brought to an end there.
update sign_ins set finished_at = @now, pending = null, ticket_key = null, email = '', upstream_state = null, upstream_flow = null,
    hand_over = null, hand_over_until = null, hand_over_session_id = null
where organization_id = @organization_id and project_id = @project_id and finished_at is null;

-- name: GiveUpSignIn :execrows
update sign_ins set finished_at = @now
where organization_id = @organization_id and id = @id and project_id = @project_id and finished_at is null and expires_at > @now;
