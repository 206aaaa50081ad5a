// Drives the TypeScript client of version 1, which most hosts still ship.
//
//   node client-v1.mjs '{"url":"…"}'
//
// It speaks as client.mjs does: {"authorize":url}, then {"callback":"code=…"},
// then {"result":{…}}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { config, hear, providerOf, say } from "./shared.mjs";

const provider = providerOf("TypeScript v1 end-to-end");

const fresh = () => ({
  client: new Client({ name: "ts-v1-e2e", version: "1.0.0" }),
  transport: new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider }),
});

const asking = fresh();
try {
  await asking.client.connect(asking.transport);
  throw new Error("connected without signing in");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
say({ authorize: provider.authorizeURL });
const { callback } = await hear();
await asking.transport.finishAuth(new URLSearchParams(callback).get("code"));

const { client, transport } = fresh();
await client.connect(transport);
const { tools } = await client.listTools();
const call = () => client.callTool({ name: config.tool, arguments: config.arguments ?? {} });
const page = await call();

// An access token that no longer works: the client must refresh, and go on.
const firstToken = provider.saved.access_token;
provider.saved = { ...provider.saved, access_token: firstToken.slice(0, -8) + "AAAAAAAA" };
const after = await call();

say({
  result: {
    protocol: transport.protocolVersion ?? "",
    tools: tools.map((t) => t.name),
    page: page.structuredContent,
    after: after.structuredContent,
    refreshed: provider.issued > 1 && provider.saved.access_token !== firstToken,
    registrations: provider.registrations,
  },
});
await client.close();
process.exit(0);
