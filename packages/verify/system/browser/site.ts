import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "vite";

/** A page that has the verifier and nothing else, under the policy that our pages are served with. */
export interface Site {
  readonly address: string;
  close(): void;
}

const PAGE = '<!doctype html><title>verify</title><script type="module" src="/page.js"></script>';

/** The same in a worker, where a page should do it: verifying a long ledger would hold up the page. */
const WORKER = `import "/page.js";
onmessage = async ({ data: [encoded, options] }) => postMessage(await verifyBase64(encoded, options));
postMessage("ready");
`;

/** Builds the verifier for browsers and serves it. */
export async function serveVerifier(): Promise<Site> {
  const files = new Map([
    ["/", { type: "text/html", body: PAGE }],
    ["/page.js", { type: "text/javascript", body: await bundle() }],
    ["/worker.js", { type: "text/javascript", body: WORKER }],
  ]);
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? "");
    response.setHeader("content-security-policy", "default-src 'self'");
    if (file === undefined) response.writeHead(204).end();
    else response.setHeader("content-type", file.type).end(file.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { address: `http://127.0.0.1:${portOf(server)}`, close: () => void server.close() };
}

async function bundle(): Promise<string> {
  const built = await build({
    root: fileURLToPath(new URL("../..", import.meta.url)),
    configFile: false,
    logLevel: "error",
    build: { write: false, minify: false, lib: { entry: "system/browser/page.ts", formats: ["es"] } },
  });
  const [result] = [built].flat();
  if (result === undefined || !("output" in result)) throw new Error("the verifier was not built");
  const [chunk, ...others] = result.output;
  if (others.length > 0) throw new Error("the verifier is more than one file");
  return chunk.code;
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}
