// Drives the official TypeScript client against a surface, for the Go tests.
//
//   node client.mjs '{"url":"…","mode":"auto"|"legacy"}'
//
// It speaks one JSON object a line: it writes {"authorize":url} when a person
// must sign in, and reads {"callback":"code=…&state=…"}; then it runs its steps
// and writes {"result":{…}}. An uncaught error ends it with status 1.
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";

const config = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const hear = async () => JSON.parse((await lines.next()).value);

const provider = {
  redirectUrl: "http://127.0.0.1:33418/callback",
  clientMetadata: {
    client_name: "TypeScript end-to-end",
    redirect_uris: ["http://127.0.0.1:33418/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  clientInformation() { return this.client; },
  saveClientInformation(info) { this.client = info; this.registrations = (this.registrations ?? 0) + 1; },
  tokens() { return this.saved; },
  saveTokens(tokens) { this.saved = tokens; this.issued = (this.issued ?? 0) + 1; },
  redirectToAuthorization(url) { this.authorizeURL = url.toString(); },
  saveCodeVerifier(v) { this.verifier = v; },
  codeVerifier() { return this.verifier; },
  saveDiscoveryState(s) { this.discovery = s; },
  discoveryState() { return this.discovery; },
};

async function connect() {
  const options = config.mode === "auto" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client({ name: "ts-e2e", version: "1.0.0" }, options);
  const transport = new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider });
  await client.connect(transport);
  return { client, transport };
}

async function signIn() {
  const client = new Client({ name: "ts-e2e", version: "1.0.0" }, config.mode === "auto" ? { versionNegotiation: { mode: "auto" } } : {});
  const transport = new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider });
  try {
    await client.connect(transport);
    throw new Error("connected without signing in");
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  say({ authorize: provider.authorizeURL });
  const { callback } = await hear();
  await transport.finishAuth(new URLSearchParams(callback));
}

await signIn();
const first = await connect();
const { tools } = await first.client.listTools();
const page = await first.client.callTool({ name: config.tool, arguments: config.arguments ?? {} });

// An access token that no longer works: the client must refresh, and go on.
const firstToken = provider.saved.access_token;
provider.saved = { ...provider.saved, access_token: firstToken.slice(0, -8) + "AAAAAAAA" };
const after = await first.client.callTool({ name: config.tool, arguments: config.arguments ?? {} });

say({
  result: {
    protocol: first.client.getNegotiatedProtocolVersion?.() ?? "",
    server: first.client.getServerVersion?.() ?? null,
    tools: tools.map((t) => t.name),
    page: page.structuredContent,
    after: after.structuredContent,
    refreshed: provider.issued > 1 && provider.saved.access_token !== firstToken,
    registrations: provider.registrations,
  },
});
await first.client.close();
process.exit(0);
