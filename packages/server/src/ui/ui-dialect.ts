import type { IncomingMessage, ServerResponse } from "node:http";
import { extname } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Dialect } from "../dialect/dialect.ts";
import { pathOf } from "../gateway/path.ts";
import { Refusal } from "../problems/refusal.ts";
import { NOT_BUILT } from "./not-built.ts";
import { findUiFile, type UiFile } from "./ui-file.ts";
import { protectPage } from "./ui-protection.ts";

const BASE = "/ui/";
const INDEX = "index.html";
const FOR_GOOD = "public, max-age=31536000, immutable";

/**
 * The inspector, as files of a folder. It is for anyone: the page holds nothing, and what it shows it asks for like
 * everybody else. A path that names no file is a place in the page.
 */
export function uiDialect(folder: string): Dialect {
  return {
    name: "ui",
    mount(place) {
      for (const path of ["/", "/ui"]) place.open(path, async (_, response) => redirect(response, BASE));
      place.open(`${BASE}*`, (request, response) => serve(folder, request, response));
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
    throw new Refusal("not_found", "there is no such file of the page");
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
  if (leadsOut || /[\\\0]/.test(path)) throw new Refusal("not_found", "there is no such file of the page");
  return path === "" ? INDEX : path;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw new Refusal("invalid", "the path is not encoded as it should be", { cause: error });
  }
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end();
}
