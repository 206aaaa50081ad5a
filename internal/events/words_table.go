package events

// peaceful are the ends of a grant that somebody wanted, or that were due.
var peaceful = map[string]bool{"by_user": true, "by_builder": true, "replaced": true, "expired": true, "idle": true, "revoked": true}

// passing are failures of a refresh that keep everything: the client tries
// again.
var passing = map[string]bool{"temporarily_unavailable": true, "sign_in_unavailable": true, "unavailable": true, "timeout": true, "rate_limited": true, "too_many_requests": true}

// words are those of each code: of one step, or under "" of any.
var words = map[StepKind]map[string]said{
	StepRegistration: {
		"invalid_redirect_uri":    {"The client gave an address to come back to that cannot be allowed: not https, not on this machine, and no scheme of its own.", "The client has to change that. Its makers need the redirect URI from this page; nothing has to be set here."},
		"invalid_client_metadata": {"The client described itself in a way that cannot be accepted.", "The client has to change that. Try its newest version; otherwise tell its makers the trace id."},
		"document_unreachable":    {"The client names itself by the address of a document, and that address did not answer.", "Wait and try again. On a network of your own, see that this server may reach the internet."},
	},
	StepAuthorize: {
		"unknown_client":            {"The client came with an id that this surface does not know. It was registered elsewhere, or so long ago without being used that it is gone.", "Remove the connector in the AI app and add it again."},
		"invalid_client":            {"The client came with an id that this surface does not know.", "Remove the connector in the AI app and add it again."},
		"redirect_mismatch":         {"The client wants to come back to another address than those it registered.", "Remove the connector in the AI app and add it again. If that does not help, the client has a fault: tell its makers."},
		"invalid_redirect_uri":      {"The client wants to come back to another address than those it registered.", "Remove the connector in the AI app and add it again. If that does not help, the client has a fault: tell its makers."},
		"invalid_request":           {"The client's request is not as OAuth 2.1 asks: PKCE with S256 may be missing, or a parameter is there twice.", "Update the client. An old version may not know PKCE."},
		"invalid_target":            {"The client asked for access to another address than this surface's.", "Give the client exactly the server URL from this surface's overview, and add the connector again."},
		"unsupported_response_type": {"The client asked for something other than an authorization code.", "The client has to change that; only response_type=code is part of OAuth 2.1."},
		"request_not_supported":     {"The client sent its request as a signed object, which is not supported.", "Switch that off in the client, if it can be."},
		"interaction_required":      {"The client asked for access without showing a page, and there is something to ask.", "Let the person connect again from the AI app, so that a page can be shown."},
		"login_required":            {"The client asked for access without showing a page, and nobody is signed in.", "Let the person connect again from the AI app, so that a page can be shown."},
		"sign_in_paused":            {"Sign-in is paused: the proof that the project is yours has not been found for three days.", "Open the project's Ownership page and prove it again."},
	},
	StepSignIn: {
		"access_denied":       {"The person gave up, or the app said no, on the app's own pages.", "Nothing, if they meant to. Otherwise look at the app's consent page and its log in Supabase."},
		"wrong_credentials":   {"The email address or the password was wrong.", "Nothing here. If it is right, look the person up under Authentication, Users, in Supabase."},
		"not_confirmed":       {"The person's email address is not confirmed yet.", "They open the link in the app's mail. Look under Authentication, Users, in Supabase whether it was sent."},
		"banned":              {"The person may not sign in: they are banned in Supabase.", "Lift the ban under Authentication, Users, in Supabase, if it is a mistake."},
		"code_wrong":          {"The code or link from the mail was wrong, used already or too old.", "They ask for a new one. Some mail scanners open links before people do: then use the code."},
		"factor_wrong":        {"The code of the second factor was wrong.", "They try the next code of their authenticator app."},
		"factor_gone":         {"The second factor was asked for too long ago, or has been removed.", "They sign in again."},
		"captcha_failed":      {"The project asks for a captcha, and none was solved.", "Set the captcha's provider and site key under the project's Settings, Sign-in."},
		"rate_limited":        {"There were too many tries in a short time.", "Wait. If it happens to many people, raise the rate limits under Authentication in Supabase, or switch its OAuth server on: then people sign in on the app's own pages."},
		"not_available":       {"The project has this way to sign in switched off.", "Switch it on under Authentication, Sign In / Providers, in Supabase, or tell people another way."},
		"user_exists":         {"Somebody wanted to make an account that exists already.", "They sign in instead."},
		"weak_password":       {"The password for a new account was too weak for the project.", "They choose a longer one."},
		"rejected":            {"A hook of the project refused the sign-in.", "Look at the hooks under Authentication in Supabase."},
		"role_not_allowed":    {"The person signed in with a role that this surface does not admit.", "Add the role to access.roles in the surface file, if it should be admitted."},
		"anonymous":           {"The person is signed in to the app anonymously, which this surface does not admit.", "They sign in with an account of their own, or allow access.anonymous_users in the surface file."},
		"client_gone":         {"Our OAuth client of the project has been deleted, or its secret was changed.", "The next sign-in registers a new one. If you pasted id and secret, paste them again under the project's Settings, Sign-in."},
		"redirect_not_listed": {"The project does not allow browsers to come back to this server.", "Add the callback URL from the project's Settings, Sign-in, under Authentication, URL Configuration, in Supabase."},
		"other":               {"The project's Auth refused the sign-in.", "Look at the Auth log in Supabase at this time."},
		"unavailable":         {"The project's Auth did not answer.", "See in Supabase whether the project is paused or down, then try again."},
		"timeout":             {"The project's Auth did not answer in time.", "See in Supabase whether the project is paused or down, then try again."},
		"start_again":         {"The sign-in was over, or was continued in another browser than the one it began in.", "Let the person start again from the AI app. Some apps open links in a browser of their own: copy the link into the usual one."},
	},
	StepConsent: {
		"access_denied": {"The person chose not to allow it.", "Nothing, if they meant to. They can connect again at any time."},
		"start_again":   {"The question was answered twice, or too late.", "Let the person start again from the AI app."},
	},
	StepToken: {
		"invalid_client":          {"The client did not prove who it is: its id is gone, or its secret is wrong.", "Remove the connector in the AI app and add it again."},
		"invalid_grant":           {"The code was used already, too old, or not proven to be the client's own.", "Let the person connect again. A code lasts a minute: if it happens each time, the client's clock or a proxy holds it up."},
		"code_replayed":           {"The same code came twice. What it gave has been taken back, since somebody may have copied it.", "Let the person connect again. If it happens each time, a proxy or the client repeats requests."},
		"invalid_request":         {"The client's request for its token is not as OAuth asks.", "Update the client; otherwise tell its makers the trace id."},
		"invalid_target":          {"The client asked for a token for another address than this surface's.", "Give the client exactly the server URL from this surface's overview, and add the connector again."},
		"unsupported_grant_type":  {"The client asked for a token in a way that is not offered here.", "Only authorization_code and refresh_token are offered. Choose OAuth with sign-in in the client."},
		"temporarily_unavailable": {"The token could not be made at that moment.", "Try again. If it stays, look at this server's log with the trace id."},
		"server_error":            {"The token could not be made: something went wrong on our side.", "Look at this server's log with the trace id."},
	},
	StepRefresh: {
		"invalid_grant":           {"The access had ended when the client wanted to renew it.", "Let the person connect again."},
		"invalid_client":          {"The client did not prove who it is: its id is gone, or its secret is wrong.", "Remove the connector in the AI app and add it again."},
		"temporarily_unavailable": {"The project could not be reached to renew the session. Nothing is lost: the client tries again.", "See in Supabase whether the project is paused or down."},
		"unavailable":             {"The project could not be reached to renew the session. Nothing is lost: the client tries again.", "See in Supabase whether the project is paused or down."},
	},
	"": {
		"token_reused":     {"An old refresh token was used again. The access has been taken back, since somebody may have copied it.", "Let the person connect again. If it happens often, the client keeps its tokens in two places."},
		"session_ended":    {"The person's session at the project has ended: they signed out everywhere, changed their password, or were removed.", "Let the person connect again and sign in."},
		"upstream_ended":   {"The person's session at the project has ended: they signed out everywhere, changed their password, or were removed.", "Let the person connect again and sign in."},
		"subject_changed":  {"The project answered for somebody else than who signed in. The access has been taken back.", "Let the person connect again. If it happens again, look at the project's access-token hook."},
		"client_gone":      {"Our OAuth client of the project has been deleted.", "Let the person connect again: a new client is registered."},
		"by_user":          {"The person took the access away in Connected apps.", ""},
		"by_builder":       {"A builder took the access away.", ""},
		"replaced":         {"Another grant has taken its place.", ""},
		"expired":          {"The time for which access was given is over.", "Let the person connect again."},
		"idle":             {"It was not used for 30 days.", "Let the person connect again."},
		"code_replayed":    {"A code came twice. What it gave has been taken back, since somebody may have copied it.", "Let the person connect again."},
		"rate_limited":     {"There were too many requests in a short time.", "Wait a minute and try again."},
		"server_error":     {"Something went wrong on our side.", "Look at this server's log with the trace id."},
		"internal":         {"Something went wrong on our side.", "Look at this server's log with the trace id."},
		"surface_paused":   {"The surface was paused.", "Switch it on again on its overview."},
		"token_revoked":    {"The client called with a token whose access has been taken away.", "Let the person connect again."},
		"token_expired":    {"The client called with a token that is over and did not renew it.", "Restart the client; if it stays, let the person connect again."},
		"invalid_token":    {"The client called with a token that does not count here.", "Remove the connector in the AI app and add it again."},
		"token_surface":    {"The client called with the token of another surface.", "Add a connector for each surface; they do not share tokens."},
		"token_issuer":     {"The client called with a token that was issued elsewhere.", "Remove the connector in the AI app and add it again."},
		"unavailable":      {"Something that is needed did not answer.", "Try again. If it stays, look at this server's log with the trace id."},
		"timeout":          {"Something that is needed did not answer in time.", "Try again. If it stays, look at this server's log with the trace id."},
		"start_again":      {"The sign-in was over, or was continued in another browser than the one it began in.", "Let the person start again from the AI app."},
		"access_denied":    {"It was not allowed.", "Let the person connect again, if it should be."},
		"unknown_client":   {"The client came with an id that this surface does not know.", "Remove the connector in the AI app and add it again."},
		"invalid_client":   {"The client came with an id that this surface does not know.", "Remove the connector in the AI app and add it again."},
		"project_unproven": {"The project is not proven to be yours, so nothing of it is served.", "Open the project's Ownership page."},
	},
}

// anyFailure are the words of a step whose code has none of its own.
var anyFailure = map[StepKind]said{
	StepChallenge:    {"The request was refused.", "Let the client connect again; with the trace id this server's log tells more."},
	StepMetadata:     {"The description of where to sign in could not be read.", "Look whether the surface is live and the project is proven."},
	StepRegistration: {"The client could not be registered.", "Try the client's newest version; with the trace id this server's log tells more."},
	StepAuthorize:    {"The client's request for access was refused before anybody could sign in.", "Remove the connector in the AI app and add it again."},
	StepSignIn:       {"The person could not be signed in.", "Let them try again; the Auth log in Supabase at this time tells more."},
	StepConsent:      {"The answer could not be taken.", "Let the person start again from the AI app."},
	StepToken:        {"The client did not get its token.", "Let the person connect again from the AI app."},
	StepFirstCall:    {"The client's first call was refused.", "Let the person connect again from the AI app."},
	StepRefresh:      {"The access could not be renewed.", "Let the person connect again from the AI app."},
	StepEnded:        {"The access has ended.", "Let the person connect again from the AI app."},
}

// stopped are the words of an attempt on which nobody went on, by the step it
// stopped after.
var stopped = map[StepKind]said{
	StepChallenge:    {"It was told to sign in, and nothing followed.", "Some clients only look whether a server is there. If somebody is waiting: a client that cannot sign in by OAuth needs a token that its person makes under Connected apps."},
	StepMetadata:     {"It read where to sign in and did not come back.", "If the surface signs people in directly at the project, what follows happens there, and shows here only with the first call. Otherwise update the client, or try another."},
	StepRegistration: {"It registered, and no browser came.", "The client opens a browser for its person; they may have closed it, or a pop-up was blocked. Let them press Connect again."},
	StepAuthorize:    {"The page to sign in was opened and left.", "Nothing, if the person changed their mind. If many stop here, try signing in yourself: a mail that does not arrive, or a way to sign in that is not offered, ends here."},
	StepSignIn:       {"The person signed in and did not answer whether the client may have access.", "Nothing, if they changed their mind. They can connect again at any time."},
	StepConsent:      {"Access was allowed, and the client never fetched its token.", "The browser did not get back to the client: an app that was closed, or something on that machine that stops it. Let the person try again with the app open."},
}
