// Drives the official TypeScript client against a surface, for the Go tests.
//
//   node client.mjs '{"url":"…","mode":"auto"|"legacy"}'
//
// It speaks one JSON object a line: it writes {"authorize":url} when a person
// must sign in, and reads {"callback":"code=…&state=…"}; then it runs its steps
// and writes {"result":{…}}. An uncaught error ends it with status 1.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { config, hear, keepsDiscovery, providerOf, say } from "./shared.mjs";

const provider = { ...providerOf("TypeScript end-to-end"), ...keepsDiscovery };

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
