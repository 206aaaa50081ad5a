// Drives the official TypeScript client through tools that ask a person, for the
// Go tests. The client answers by itself: the script only says what the person
// would.
//
//   node asking.mjs '{"url":"…","mode":"auto"|"legacy","answers":{question:answer},"calls":[{"name":…,"arguments":…}]}'
//
// An answer is what the handler returns to a message that holds the question:
// {"action":"accept","content":{…}}. It speaks as client.mjs does, and ends with {"result":{"asked":[message…],"calls":[result…]}}.
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";

const config = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const hear = async () => JSON.parse((await lines.next()).value);

const provider = {
  redirectUrl: "http://127.0.0.1:33418/callback",
  clientMetadata: {
    client_name: "TypeScript that asks",
    redirect_uris: ["http://127.0.0.1:33418/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  clientInformation() { return this.client; },
  saveClientInformation(info) { this.client = info; },
  tokens() { return this.saved; },
  saveTokens(tokens) { this.saved = tokens; },
  redirectToAuthorization(url) { this.authorizeURL = url.toString(); },
  saveCodeVerifier(v) { this.verifier = v; },
  codeVerifier() { return this.verifier; },
  saveDiscoveryState(s) { this.discovery = s; },
  discoveryState() { return this.discovery; },
};

const asked = [];
function fresh() {
  const client = new Client({ name: "ts-asking", version: "1.0.0" }, {
    capabilities: { elicitation: { form: {} } },
    ...(config.mode === "auto" ? { versionNegotiation: { mode: "auto" } } : {}),
  });
  client.setRequestHandler("elicitation/create", async (request) => {
    asked.push(request.params.message);
    const known = Object.entries(config.answers).find(([question]) => request.params.message.includes(question));
    return known?.[1] ?? { action: "cancel" };
  });
  return { client, transport: new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider }) };
}

const first = fresh();
try {
  await first.client.connect(first.transport);
  throw new Error("connected without signing in");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
say({ authorize: provider.authorizeURL });
const { callback } = await hear();
await first.transport.finishAuth(new URLSearchParams(callback));

const { client, transport } = fresh();
await client.connect(transport);
const results = [];
for (const call of config.calls) {
  try {
    results.push(await client.callTool(call));
  } catch (error) {
    results.push({ thrown: String(error), code: error.code ?? 0 });
  }
}
say({ result: { protocol: client.getNegotiatedProtocolVersion?.() ?? "", asked, calls: results } });
await client.close();
process.exit(0);
