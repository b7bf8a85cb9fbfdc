import { type FileHandle, open, realpath } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { OTHER_DOORS } from "@reins/api";
import { pathOf } from "./gateway/request.ts";
import { HttpProblem } from "./problems.ts";
import type { Routes } from "./routes/router.ts";

const BASE = "/ui/";
const INDEX = "index.html";
const FOR_GOOD = "public, max-age=31536000, immutable";

/**
 * Serves the inspector without authentication: the page contains no data. Paths that name no file are routes of the
 * page.
 */
export function uiRoutes(folder: string): Routes {
  return {
    name: "ui",
    mount(router) {
      for (const door of [OTHER_DOORS.root, OTHER_DOORS.pageFolder])
        router.publicFile(door, async (_, response) => redirect(response, BASE));
      router.publicFile(OTHER_DOORS.page, (request, response) => serve(folder, request, response));
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

/** The page for its routes; 404 for a missing file. */
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
    // Files without a content hash are revalidated.
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

/** The path below the base. Rejects traversal. */
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

/** An open file of the page; the caller closes it. */
interface UiFile {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly type: string;
  /** Its compression, if any. */
  readonly encoding: "br" | "gzip" | undefined;
  /** Whether its name contains a content hash. */
  readonly immutable: boolean;
  /** The entity tag. */
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

/** Opens a file in its smallest accepted encoding; undefined if absent. */
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

/** Whether `Accept-Encoding` allows an encoding. */
function takes(accepts: string, encoding: string): boolean {
  return accepts.split(",").some((one) => {
    const [name, ...parameters] = one.split(";").map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Opens a file if it is inside of the folder after resolving links; checks the open descriptor. */
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

/** Size and tag of an open file; undefined if it is outside or no file. */
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
 * The page's policy: everything comes from this server as separate files, and images in an agent's output are not
 * loaded.
 */
const POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join("; ");

/** Sets the policy of the page. */
function protectPage(response: ServerResponse): void {
  response.setHeader("content-security-policy", POLICY);
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
}

/** Shown at `/ui/` until the inspector is built. */
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
