import { mkdir, mkdtemp, open, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();
const SCRIPT = "console.log('hello');".repeat(20);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-ui-"));
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), "<!doctype html><title>page</title>");
  await writeFile(join(folder, "assets", "main-4f3a.js"), SCRIPT);
  await writeFile(join(folder, "assets", "main-4f3a.js.br"), brotliCompressSync(SCRIPT));
  await writeFile(join(folder, "assets", "main-4f3a.js.gz"), gzipSync(SCRIPT));
  await symlink("/etc/hostname", join(folder, "leak.txt"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Sends a request without a credential. */
async function stranger(path: string, headers: Record<string, string> = {}, ui = folder) {
  const { address } = await Served.open(harness(), { ui });
  return ask(address, "GET", path, { headers });
}

describe("the inspector", () => {
  test.runIf(process.platform === "linux")("can be rebuilt while it is served", async () => {
    // Such a file can be opened and not be found, like one that goes between the two.
    const gone = join(folder, "gone.txt");
    await using file = await open(gone, "w");
    await rm(gone);
    await symlink(`/proc/self/fd/${file.fd}`, join(folder, "going.txt"));
    expect((await stranger("/ui/going.txt")).status).toBe(404);
  });

  test("is public, at its path and at every route of the page", async () => {
    for (const path of ["/ui/", "/ui/sessions/4f3a", "/ui/ledger"]) {
      const { status, text, headers } = await stranger(path);
      expect([status, text]).toEqual([200, "<!doctype html><title>page</title>"]);
      expect(headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(headers["cache-control"]).toBe("no-cache");
      expect(headers["content-security-policy"]).toMatch(/^default-src 'self'; /);
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  test("is the redirect target of the root path", async () => {
    for (const path of ["/", "/ui"]) {
      const { status, headers } = await stranger(path);
      expect([status, headers.location]).toEqual([302, "/ui/"]);
    }
  });

  test("is compressed as the browser accepts, and immutable where its name has a content hash", async () => {
    const sent = async (accepts: string) => {
      const { headers } = await stranger("/ui/assets/main-4f3a.js", { "accept-encoding": accepts });
      return [headers["content-encoding"], headers["cache-control"], headers["content-type"]];
    };
    const kept = ["public, max-age=31536000, immutable", "text/javascript; charset=utf-8"];
    expect(await sent("gzip, br")).toEqual(["br", ...kept]);
    expect(await sent("gzip, br;q=0")).toEqual(["gzip", ...kept]);
    expect(await sent("identity")).toEqual([undefined, ...kept]);
  });

  test("responds with 304 to a known entity tag", async () => {
    const { address } = await Served.open(harness(), { ui: folder });
    const first = await ask(address, "GET", "/ui/");
    const again = await ask(address, "GET", "/ui/", {
      headers: { "if-none-match": String(first.headers.etag) },
    });
    expect([again.status, again.text]).toEqual([304, ""]);
  });

  test.each([
    "/ui/assets/none.js",
    "/ui/../package.json",
    "/ui/%2e%2e/%2e%2e/etc/passwd",
    "/ui/..%2f..%2fetc/passwd",
    "/ui/.env",
    "/ui/leak.txt",
    "/ui/assets/%00.js",
    "/ui/assets/%ff.js",
  ])("responds with 404 at %s", async (path) => {
    const { status } = await stranger(path);
    expect([400, 401, 404]).toContain(status);
  });

  test("shows how to build it where it is not built", async () => {
    const { status, text } = await stranger("/ui/sessions/1", {}, join(folder, "nowhere"));
    expect(status).toBe(200);
    expect(text).toContain("npm run build --workspace packages/inspector");
  });

  test("makes no other path public", async () => {
    expect((await stranger("/v1/sessions")).status).toBe(401);
    expect((await stranger("/ui/", { host: "evil.example" })).status).toBe(403);
  });
});
