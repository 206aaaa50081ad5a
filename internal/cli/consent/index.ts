// The half of the consent page that speaks to Supabase Auth's OAuth server.
//
// The page has signed somebody in and sends their token with the id of an
// authorization: without an action to learn what is asked, then with "approve"
// or "deny". Nothing is kept here, and nothing is logged.
//
// Reading an authorization is not safe: it binds the authorization to the
// person, and finishes it when they allowed the same before. So Auth is asked
// exactly once per request of the page, and never again by itself.
//
// CONSENT_ORIGIN, a secret of this function, is the one origin that may call it.

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

const longestBody = 4096;

Deno.serve(async (request: Request): Promise<Response> => {
  const origin = pageOrigin();
  if (origin === "") {
    return reply(refusal(500, "not_configured", "Set CONSENT_ORIGIN to the origin of the consent page, such as https://app.example.com, and deploy again."), "");
  }
  if (request.headers.get("origin") !== origin) {
    return reply(refusal(403, "wrong_origin", "Only the consent page may call this function. CONSENT_ORIGIN says where it is."), "");
  }
  if (request.method === "OPTIONS") {
    return new Response(null, { status: 204, headers: headersFor(origin) });
  }
  if (request.method !== "POST") {
    return reply(refusal(405, "wrong_method", "Only POST is answered here."), origin);
  }
  return reply(await answer(request), origin);
});

// pageOrigin is CONSENT_ORIGIN where that is one origin and nothing else.
function pageOrigin(): string {
  const set = (Deno.env.get("CONSENT_ORIGIN") ?? "").trim().replace(/\/$/, "");
  try {
    const origin = new URL(set).origin;
    return origin === set && origin !== "null" ? origin : "";
  } catch {
    return "";
  }
}

async function answer(request: Request): Promise<Answer> {
  const token = bearer(request.headers.get("authorization"));
  const claims = claimsOf(token);
  if (claims === null) {
    return refusal(401, "sign_in", "Sign in first.");
  }
  if (isDelegated(claims)) {
    return refusal(403, "delegated_token", "This token belongs to an AI app. Only the person themselves may answer.");
  }
  const asked = await question(request);
  if (asked === null) {
    return refusal(400, "bad_request", "Send {authorization_id, action}, where action is approve, deny, or left out.");
  }
  const path = "/oauth/authorizations/" + encodeURIComponent(asked.id);
  const key = request.headers.get("apikey") ?? "";
  const reached = asked.action === ""
    ? await askAuth("GET", path, token, key)
    : await askAuth("POST", path + "/consent", token, key, { action: asked.action });
  if (reached === null) {
    return refusal(502, "unavailable", "The app's sign-in does not answer. Try again.");
  }
  return reached.status === 200 ? accepted(reached.body) : refused(reached);
}

// question reads what the page wants; null for anything else.
async function question(request: Request): Promise<{ id: string; action: string } | null> {
  const text = await request.text();
  if (text.length > longestBody) {
    return null;
  }
  const body = parse(text);
  const id = body?.authorization_id, action = body?.action ?? "";
  if (typeof id !== "string" || !/^[A-Za-z0-9_-]{1,128}$/.test(id)) {
    return null;
  }
  return action === "" || action === "approve" || action === "deny" ? { id, action } : null;
}

// askAuth makes one call, without an Origin, as servers do. It is null where
// Auth gave no answer of its own.
async function askAuth(method: string, path: string, token: string, key: string, body?: unknown): Promise<Answer | null> {
  const headers: Record<string, string> = { authorization: "Bearer " + token, accept: "application/json" };
  if (key !== "") {
    headers.apikey = key; // the gateway in front of Auth wants the publishable key
  }
  if (body !== undefined) {
    headers["content-type"] = "application/json";
  }
  const base = (Deno.env.get("SUPABASE_URL") ?? "").replace(/\/+$/, "");
  try {
    const response = await fetch(base + "/auth/v1" + path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), redirect: "error", signal: AbortSignal.timeout(10_000),
    });
    const read = parse(await response.text());
    return read === null ? null : { status: response.status, body: read };
  } catch {
    return null;
  }
}

// accepted is either of the two shapes: an address to go to, or what to ask.
function accepted(body: Record<string, unknown>): Answer {
  if (typeof body.redirect_url === "string" && body.redirect_url !== "") {
    return { status: 200, body: { redirect_url: body.redirect_url } };
  }
  const client = record(body.client), user = record(body.user);
  if (client === null || typeof body.redirect_uri !== "string" || body.redirect_uri === "") {
    return refusal(502, "unavailable", "The app's sign-in answered in a way that this function does not know.");
  }
  return {
    status: 200,
    body: { client: text(client.name), redirect_uri: body.redirect_uri, user: text(user?.email) || text(user?.phone), scope: text(body.scope) },
  };
}

// refused says in one word what Auth's refusal means for the person.
function refused(reached: Answer): Answer {
  switch (reached.status) {
    case 400: // read or answered before: it cannot be read a second time
      return refusal(409, "already_used", "This request was already used. Start again from your AI app.");
    case 404: // unknown, expired, or opened by somebody else
      return refusal(404, "not_found", "This request has expired, or another account has opened it. Start again from your AI app.");
    case 401:
    case 403:
      return refusal(401, "sign_in", "Your sign-in has ended. Sign in again.");
    case 429:
      return refusal(429, "too_many", "Too many tries. Wait a minute, then try again.");
    default:
      return refusal(502, "unavailable", "The app's sign-in does not answer as it should. Try again.");
  }
}

// isDelegated tells tokens of OAuth clients: Auth would take them here, and one
// AI app could allow another. After a second factor such a token has lost its
// client_id, so all three marks count.
function isDelegated(claims: Record<string, unknown>): boolean {
  const methods = Array.isArray(claims.amr) ? claims.amr : [];
  return "client_id" in claims || "scope" in claims ||
    methods.some((m) => text(record(m)?.method ?? m).startsWith("oauth_provider"));
}

// claimsOf reads a token without checking it: that is Auth's part.
function claimsOf(token: string): Record<string, unknown> | null {
  const parts = token.split(".");
  if (parts.length !== 3) {
    return null;
  }
  try {
    const bytes = Uint8Array.from(atob(parts[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function bearer(authorization: string | null): string {
  return /^Bearer ([A-Za-z0-9_.-]+)$/i.exec(authorization ?? "")?.[1] ?? "";
}

function parse(json: string): Record<string, unknown> | null {
  try {
    return record(JSON.parse(json));
  } catch {
    return null;
  }
}

function record(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Record<string, unknown> : null;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function refusal(status: number, code: string, message: string): Answer {
  return { status, body: { code, message } };
}

function headersFor(origin: string): Headers {
  const headers = new Headers({ "cache-control": "no-store", "x-content-type-options": "nosniff", vary: "Origin" });
  if (origin !== "") {
    headers.set("access-control-allow-origin", origin);
    headers.set("access-control-allow-methods", "POST");
    headers.set("access-control-allow-headers", "authorization, apikey, content-type");
  }
  return headers;
}

function reply(answered: Answer, origin: string): Response {
  const headers = headersFor(origin);
  headers.set("content-type", "application/json");
  return new Response(JSON.stringify(answered.body), { status: answered.status, headers });
}
