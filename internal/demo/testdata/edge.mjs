// Runs one Edge Function as it was written: a stand-in for the two things of
// Deno that it uses. It prints the port it listens on.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

globalThis.Deno = {
  env: { get: (name) => process.env[name] },
  serve: (handler) => {
    const server = createServer(async (req, res) => {
      const body = [];
      for await (const part of req) body.push(part);
      const request = new Request("http://function.internal" + req.url, {
        method: req.method, headers: req.headers, body: body.length ? Buffer.concat(body) : undefined,
      });
      const response = await handler(request);
      res.writeHead(response.status, Object.fromEntries(response.headers));
      res.end(Buffer.from(await response.arrayBuffer()));
    });
    server.listen(0, "127.0.0.1", () => process.stdout.write(server.address().port + "\n"));
  },
};
await import(pathToFileURL(process.argv[2]).href);
