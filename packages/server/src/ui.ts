import { type FileHandle, open, realpath } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { pathOf } from "./gateway/request.ts";
import { HttpProblem } from "./problems.ts";
import type { Routes } from "./routes/router.ts";

const BASE = "/ui/";
const INDEX = "index.html";
const FOR_GOOD = "public, max-age=31536000, immutable";

/**
 * The inspector, as files of a folder. It is for anyone: the page holds nothing, and what it shows it asks for like
 * everybody else. A path that names no file is a place in the page.
 */
export function uiRoutes(folder: string): Routes {
  return {
    name: "ui",
    mount(router) {
      for (const path of ["/", "/ui"])
        router.publicFile(path, async (_, response) => redirect(response, BASE));
      router.publicFile(`${BASE}*`, (request, response) => serve(folder, request, response));
    },
  };
}

async function serve(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = filePath(request);
  const accepts = String(request.headers["accept-encoding"] ?? "");
  const file = (await findUiFile(folder, path, accepts)) ?? (await pageFor(folder, path, accepts));
  protectPage(response);
  if (file) return send(file, request, response);
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(NOT_BUILT);
}

/** The page itself, for places in it; what looks like a file and is none is not there. */
async function pageFor(folder: string, path: string, accepts: string): Promise<UiFile | undefined> {
  if (extname(path) !== "" && path !== INDEX)
    throw new HttpProblem("not_found", "there is no such file of the page");
  return findUiFile(folder, INDEX, accepts);
}

async function send(file: UiFile, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { handle, bytes, type, encoding, immutable, tag } = file;
  try {
    response.setHeader("etag", tag);
    response.setHeader("vary", "accept-encoding");
    // What is not named after its content is asked for anew, which costs one short answer.
    response.setHeader("cache-control", immutable ? FOR_GOOD : "no-cache");
    if (request.headers["if-none-match"] === tag) {
      response.writeHead(304).end();
      return;
    }
    response.writeHead(200, {
      "content-type": type,
      "content-length": bytes,
      ...(encoding && { "content-encoding": encoding }),
    });
    if (request.method === "HEAD") response.end();
    else if (bytes === 0) response.end();
    else await pipeline(handle.createReadStream({ autoClose: false, end: bytes - 1 }), response);
  } finally {
    await handle.close();
  }
}

/** What is asked for below the base; never a way out of it. */
function filePath(request: IncomingMessage): string {
  const path = decoded(pathOf(request).slice(BASE.length));
  const parts = path.split("/");
  const leadsOut = parts.some((part) => part === ".." || part.startsWith("."));
  if (leadsOut || /[\\\0]/.test(path))
    throw new HttpProblem("not_found", "there is no such file of the page");
  return path === "" ? INDEX : path;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw new HttpProblem("invalid", "the path is not encoded as it should be", { cause: error });
  }
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end();
}

/** A file of the page, open; whoever gets it closes it. */
interface UiFile {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly type: string;
  /** How it is compressed, where it is. */
  readonly encoding: "br" | "gzip" | undefined;
  /** Whether its name changes with what is in it, so that it can be kept for good. */
  readonly immutable: boolean;
  /** Tells one content from another. */
  readonly tag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
};

const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Finds a file below a folder, the smallest form of it that a browser takes; nothing when there is none. */
async function findUiFile(folder: string, path: string, accepts: string): Promise<UiFile | undefined> {
  const type = TYPES[extname(path)];
  if (type === undefined) return undefined;
  const immutable = path.startsWith("assets/");
  for (const [encoding, suffix] of ENCODINGS) {
    if (!takes(accepts, encoding)) continue;
    const found = await openInside(folder, path + suffix);
    if (found) return { ...found, type, encoding, immutable };
  }
  const plain = await openInside(folder, path);
  return plain && { ...plain, type, encoding: undefined, immutable };
}

/** Whether an `Accept-Encoding` names an encoding and does not refuse it. */
function takes(accepts: string, encoding: string): boolean {
  return accepts.split(",").some((one) => {
    const [name, ...parameters] = one.split(";").map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Opens a file if it lies in the folder, wherever links lead; it is looked at through what was opened. */
async function openInside(
  folder: string,
  path: string,
): Promise<Pick<UiFile, "handle" | "bytes" | "tag"> | undefined> {
  const handle = await opened(join(folder, path));
  if (!handle) return undefined;
  const found = await looked(handle, folder, path).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  if (found) return { handle, ...found };
  await handle.close();
  return undefined;
}

/** What is known of an open file; nothing when it lies elsewhere, is none, or has gone meanwhile. */
async function looked(
  handle: FileHandle,
  folder: string,
  path: string,
): Promise<Pick<UiFile, "bytes" | "tag"> | undefined> {
  const status = await handle.stat();
  const [root, real] = await Promise.all([
    unlessAbsent(realpath(folder)),
    unlessAbsent(realpath(join(folder, path))),
  ]);
  if (!status.isFile() || root === undefined || !real?.startsWith(root + sep)) return undefined;
  return { bytes: status.size, tag: `"${status.size.toString(36)}-${status.mtimeMs.toString(36)}"` };
}

function opened(path: string): Promise<FileHandle | undefined> {
  return unlessAbsent(open(path, "r"));
}

async function unlessAbsent<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Error && "code" in error && ABSENT.has(String(error.code))) return undefined;
    throw error;
  }
}

const ABSENT: ReadonlySet<string> = new Set([
  "ENOENT",
  "ENOTDIR",
  "EISDIR",
  "ENAMETOOLONG",
  "EACCES",
  "ELOOP",
]);

/**
 * What a browser is told about the page. Everything comes from here, as files of their own: no script, style, font or
 * image of somebody else's, none that stands in the page, and a picture in what an agent says is not loaded.
 */
const POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join("; ");

/** Allows the page what it needs, in place of what any other answer is allowed. */
function protectPage(response: ServerResponse): void {
  response.setHeader("content-security-policy", POLICY);
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
}

/** What stands at `/ui/` while the page was not built. */
const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Reins</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1rem">
<h1>Reins is up</h1>
<p>The inspector was not built here. In the repository, build it once and reload this page:</p>
<pre>npm run build --workspace packages/inspector</pre>
<p>Everything else works without it: <code>reins --help</code>, and the API that <a href="/openapi.json">/openapi.json</a> describes.</p>
</body>
</html>
`;
