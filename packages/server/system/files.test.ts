import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import {
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { request } from "node:http";
import { request as requestOverTls } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { paxOf, type TarPart, tarOf } from "../../kit/test/tar.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { newCertificate } from "./fixtures/certificate.ts";
import type { Served } from "./fixtures/home.ts";
import { Http2Client } from "./fixtures/http2-client.ts";
import { silent } from "./fixtures/parts.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll({
  rules: `
tool_rules:
  - { name: secret, condition: { not: { tool_name_matches: [fs/delete_entry] }, paths: { any: { match: "**/secret*" } } }, verdict: blocked, reason: not for you }
  - { name: careful, condition: { tool_name_matches: [fs/write_file], paths: { any: { match: "**/careful*" } } }, verdict: ask, reason: careful }
  - { name: asked, condition: { tool_name_matches: [fs/write_file], paths: { any: { match: "**/asked/**" } } }, verdict: ask, reason: careful }
  - { name: rest, condition: {}, verdict: allowed }
`,
  hosting: { tenants: { acme: [] } },
});
const BYTES = { "content-type": "application/octet-stream" };
const TAR = { "content-type": "application/x-tar" };

/** More than what the system keeps on its way to a reader. */
const LARGE = 256 * 1024 * 1024;

/** How often this process has a file open. */
function openedTimes(path: string): number {
  const paths = readdirSync("/proc/self/fd").map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return "";
    }
  });
  return paths.filter((each) => each === path).length;
}

const at = (path: string, more = "") => `?path=${encodeURIComponent(path)}${more}`;
const serve = () => serveAgents(home());
const inside = (name: string) => join(home().workspace, name);

describe("a file of a caller", () => {
  test("is written, read, listed, described, moved and removed", async () => {
    const served = await serve();
    const put = await served.ask("PUT", `/v1/fs/file${at("a/b/c.txt")}`, { headers: BYTES, body: "hello" });
    expect([put.status, put.body]).toEqual([200, { path: inside("a/b/c.txt"), bytesWritten: 5 }]);
    expect((await served.ask("GET", `/v1/fs/file${at(inside("a/b/c.txt"))}`)).text).toBe("hello");
    const listed = await served.ask("GET", `/v1/fs/entries${at("a")}`);
    expect(listed.body).toMatchObject([{ name: "b", path: inside("a/b"), entryType: "directory" }]);
    const described = await served.ask("GET", `/v1/fs/stat${at("a/b/c.txt")}`);
    expect(described.body).toMatchObject({ path: inside("a/b/c.txt"), entryType: "file", size: 5 });
    const made = await served.ask("POST", `/v1/fs/mkdir${at("a/d/e")}`);
    expect(made.body).toEqual({ path: inside("a/d/e") });
    const moving = { from: "a/b/c.txt", to: "a/d/e/f.txt" };
    expect((await served.ask("POST", "/v1/fs/move", { body: moving })).status).toBe(200);
    await served.ask("PUT", `/v1/fs/file${at("a/b/c.txt")}`, { headers: BYTES, body: "new" });
    expect((await served.ask("POST", "/v1/fs/move", { body: moving })).status).toBe(409);
    const over = { ...moving, overwrite: true };
    expect((await served.ask("POST", "/v1/fs/move", { body: over })).status).toBe(200);
    expect(await readFile(inside("a/d/e/f.txt"), "utf8")).toBe("new");
    expect((await served.ask("DELETE", `/v1/fs/entry${at("a")}`)).status).toBe(409);
    expect((await served.ask("DELETE", `/v1/fs/entry${at("a", "&recursive=true")}`)).body).toEqual({
      path: inside("a"),
    });
    expect((await served.ask("GET", `/v1/fs/stat${at("a")}`)).status).toBe(404);
    expect((await served.ask("GET", `/v1/fs/file${at("a")}`)).status).toBe(404);
  });

  test("is read in parts", async () => {
    const served = await serve();
    await writeFile(inside("parts"), "0123456789");
    const read = async (range: string, more = {}) => {
      const { status, headers, text } = await served.ask("GET", `/v1/fs/file${at("parts")}`, {
        headers: { range, ...more },
      });
      return [status, headers["content-range"], text];
    };
    expect(await read("bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
    expect(await read("bytes=7-")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await read("bytes=-3")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await read("bytes=4-99")).toEqual([206, "bytes 4-9/10", "456789"]);
    expect((await read("bytes=10-")).slice(0, 2)).toEqual([416, "bytes */10"]);
    for (const ignored of ["bytes=5-2", "bytes=0-1,3-4", "lines=1-2", "bytes=-"])
      expect(await read(ignored)).toEqual([200, undefined, "0123456789"]);
    const { headers } = await served.ask("HEAD", `/v1/fs/file${at("parts")}`);
    expect(headers).toMatchObject({ "content-length": "10", "accept-ranges": "bytes" });
    const same = { "if-range": String(headers.etag) };
    expect(await read("bytes=0-1", same)).toEqual([206, "bytes 0-1/10", "01"]);
    await writeFile(inside("parts"), "changed");
    expect(await read("bytes=0-1", same)).toEqual([200, undefined, "changed"]);
  });

  test("is changed only in the version that a client names", async () => {
    const served = await serve();
    const send = async (method: string, headers: Record<string, string>, body?: string) =>
      (
        await served.ask(method, `/v1/fs/file${at("versions")}`, {
          headers: { ...BYTES, ...headers },
          ...(body !== undefined && { body }),
        })
      ).status;
    const version = async () =>
      String((await served.ask("HEAD", `/v1/fs/file${at("versions")}`)).headers.etag);
    expect(await send("PUT", { "if-match": "*" }, "none there")).toBe(412);
    expect(await send("PUT", { "if-none-match": "*" }, "first")).toBe(200);
    expect(await send("PUT", { "if-none-match": "*" }, "again")).toBe(412);
    const first = await version();
    expect(await send("PUT", { "if-match": `"x", ${first}` }, "second")).toBe(200);
    expect(await send("PUT", { "if-match": first }, "of an old version")).toBe(412);
    expect(await send("DELETE", { "if-match": first })).toBe(412);
    expect(await readFile(inside("versions"), "utf8")).toBe("second");
    const second = await version();
    const raced = Array.from({ length: 20 }, (_, index) =>
      send("PUT", { "if-match": second }, `writer ${index}`),
    );
    const statuses = await Promise.all(raced);
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    expect(await readFile(inside("versions"), "utf8")).toBe(`writer ${statuses.indexOf(200)}`);
    expect(await send("DELETE", { "if-match": await version() })).toBe(200);
  });

  test("keeps its permissions, and readers never see half of it", async () => {
    const served = await serve();
    await writeFile(inside("run.sh"), "old", { mode: 0o755 });
    await served.ask("PUT", `/v1/fs/file${at("run.sh")}`, { headers: BYTES, body: "new" });
    expect([(await stat(inside("run.sh"))).mode & 0o777, await readFile(inside("run.sh"), "utf8")]).toEqual([
      0o755,
      "new",
    ]);
    // A client that goes away in the middle changes nothing, leaves nothing behind, and is no error of the server.
    const logged = { error: vi.spyOn(silent, "error"), debug: vi.spyOn(silent, "debug") };
    onTestFinished(() => void vi.restoreAllMocks());
    const half = request(`${served.address}/v1/fs/file${at("run.sh")}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${served.access.token}`, "content-length": "1000000" },
    });
    half.on("error", () => undefined);
    half.write(Buffer.alloc(100_000));
    await expect.poll(async () => (await readdir(home().workspace)).join()).toContain("reins-partial");
    half.destroy();
    await expect.poll(async () => (await readdir(home().workspace)).join()).not.toContain("reins-partial");
    expect(await readFile(inside("run.sh"), "utf8")).toBe("new");
    const left = [expect.objectContaining({ path: "/v1/fs/file" }), expect.stringMatching(/client left/)];
    await expect.poll(() => logged.debug.mock.calls).toContainEqual(left);
    const failed = [expect.objectContaining({ path: "/v1/fs/file" }), "a request failed"];
    expect(logged.error.mock.calls).not.toContainEqual(failed);
  });

  test("that becomes shorter while it is sent is not taken for the whole, and recorded as failed", async () => {
    const served = await serve();
    await writeFile(inside("shrinks"), "");
    await truncate(inside("shrinks"), LARGE);
    const headers = { authorization: `Bearer ${served.access.token}` };
    const sent = request(`${served.address}/v1/fs/file${at("shrinks")}`, { headers, agent: false }).end();
    const [response] = await once(sent, "response");
    await truncate(inside("shrinks"), 1);
    let bytes = 0;
    await expect(
      (async () => {
        for await (const part of response) bytes += part.length;
      })(),
    ).rejects.toThrow("aborted");
    expect(bytes).toBeLessThan(LARGE);
    const last = async () => (await home().ledger.read({ limit: 1_000 })).at(-1)?.entry.payload;
    await expect.poll(last).toMatchObject({ tool: "fs/read_file", outcome: "failed" });
  });

  test.skipIf(process.platform !== "linux")(
    "is let go where its reader does not read, over any version of HTTP",
    async () => {
      await writeFile(inside("unread"), "");
      await truncate(inside("unread"), LARGE);
      const path = `/v1/fs/file${at("unread")}`;
      const limits = { stallMs: 500 };
      const plain = await serveAgents(home(), { limits });
      const tls = newCertificate();
      const secure = await serveAgents(home(), { limits, listen: { tls } });
      const { token } = secure.access;
      const over2 = await Http2Client.open(secure.address, { ca: tls.cert, token });
      const headers = { authorization: `Bearer ${token}` };
      const over1 = [
        request(`${plain.address}${path}`, { headers, agent: false }),
        requestOverTls(`${secure.address}${path}`, { headers, agent: false, ca: tls.cert }),
      ];
      const begun = over1.map(async (sent) => {
        sent.on("error", () => undefined);
        const [response] = await once(sent.end(), "response");
        response.on("error", () => undefined);
        return response.statusCode;
      });
      const unread = await over2.open("GET", path);
      expect([...(await Promise.all(begun)), unread.status]).toEqual([200, 200, 200]);
      await expect.poll(() => openedTimes(inside("unread")), { timeout: 30_000 }).toBe(0);
      // The rest of the connection is as it was.
      expect((await over2.ask("GET", "/v1/health")).status).toBe(200);
      for (const sent of over1) sent.destroy();
    },
  );

  test("that is refused while it arrives does not keep its connection by what still comes", async () => {
    const served = await serveAgents(home(), { limits: { stallMs: 200 } });
    const { hostname, port, host } = new URL(served.address);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    let text = "";
    socket.on("data", (data) => {
      text += data.toString();
    });
    socket.on("error", () => undefined);
    const head = `host: ${host}\r\nauthorization: Bearer ${served.access.token}\r\ncontent-length: ${2 ** 40}`;
    socket.write(`PUT /v1/fs/file${at("too-large")} HTTP/1.1\r\n${head}\r\n\r\n`);
    const dripping = setInterval(() => socket.write("x"), 50);
    await expect.poll(() => text).toContain("HTTP/1.1 413");
    await expect.poll(() => socket.destroyed, { timeout: 30_000 }).toBe(true);
    clearInterval(dripping);
  });

  test("is decided about before it is touched, and what came of it is recorded", async () => {
    const served = await serve();
    const put = (path: string) =>
      served.ask("PUT", `/v1/fs/file${at(path)}`, { headers: BYTES, body: "x".repeat(9) });
    const refused = await put("secret.txt");
    expect([refused.status, Object(refused.body).detail]).toEqual([
      403,
      "fs/write_file was not allowed: not for you",
    ]);
    await expect(lstat(inside("secret.txt"))).rejects.toThrow("ENOENT");
    await put("fine.txt");
    const { ledger } = home();
    const last = async () => (await ledger.read({ limit: 1_000 })).slice(-3);
    await expect.poll(async () => (await last()).at(-1)?.entry.quality).toBe("tool_result");
    const entries = await last();
    expect(entries.map(({ entry }) => entry.quality)).toEqual([
      "policy_verdict",
      "policy_verdict",
      "tool_result",
    ]);
    expect(JSON.stringify(entries)).toContain(inside("fine.txt"));
    const sha256 = createHash("sha256").update("x".repeat(9)).digest("hex");
    expect(entries.at(-1)?.entry.payload).toMatchObject({
      outcome: "completed",
      written: [{ path: inside("fine.txt"), bytes: 9, sha256, content_hash: expect.any(String) }],
    });
  });

  test("waits for a person where a rule asks", async () => {
    const served = await serve();
    const written = served.ask("PUT", `/v1/fs/file${at("careful.txt")}`, { headers: BYTES, body: "x" });
    const pending = async () =>
      Object((await served.ask("GET", "/v1/approvals?state=pending")).body).approvals ?? [];
    await expect.poll(async () => (await pending()).length).toBe(1);
    await expect(lstat(inside("careful.txt"))).rejects.toThrow("ENOENT");
    const [{ id }] = await pending();
    await served.ask("POST", `/v1/approvals/${id}/answer`, { body: { decision: "allow_once" } });
    expect((await written).status).toBe(200);
    expect(await readFile(inside("careful.txt"), "utf8")).toBe("x");
  });

  test("of settings is stored beside others that come meanwhile, and does not wait for theirs", async () => {
    const served = await serve();
    const put = (folder: string, name: string) =>
      served.ask("PUT", `/v1/config/mcp?directory=${encodeURIComponent(inside(folder))}&mcpName=${name}`, {
        body: { type: "local", command: name },
      });
    const waiting = put("asked", "later");
    const pending = async () =>
      Object((await served.ask("GET", "/v1/approvals?state=pending")).body).approvals ?? [];
    await expect.poll(async () => (await pending()).length).toBe(1);
    const names = ["a", "b", "c", "d"];
    const stored = await Promise.all(names.map((name) => put("free", name)));
    expect(stored.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
    const file = inside("free/.sandbox-agent/config/mcp.json");
    expect(Object.keys(JSON.parse(await readFile(file, "utf8"))).toSorted()).toEqual(names);
    const [{ id }] = await pending();
    await served.ask("POST", `/v1/approvals/${id}/answer`, { body: { decision: "allow_once" } });
    expect((await waiting).status).toBe(204);
    // What others have written in its place is not lost.
    for (const text of ["not of JSON", "[]", "x".repeat(5 * 1024 * 1024)]) {
      await writeFile(file, text);
      expect((await put("free", "e")).status).toBe(409);
      expect(await readFile(file, "utf8")).toBe(text);
    }
  });

  test("is for people and services alone", async () => {
    const served = await serve();
    const { secret } = await served.person({ kind: "agent" });
    expect((await served.ask("GET", `/v1/fs/entries`, { as: secret })).status).toBe(403);
  });

  test("is used over ACP by the same code", async () => {
    const served = await serve();
    const client = await RpcClient.open(served);
    const call = async (method: string, params: object) =>
      Object((await client.request(`_sandboxagent/fs/${method}`, { ...params })).body);
    const contentBase64 = Buffer.from("by message").toString("base64");
    expect((await call("write_file", { path: "m/x", contentBase64 })).result).toEqual({
      path: inside("m/x"),
      bytesWritten: 10,
    });
    expect((await call("read_file", { path: "m/x" })).result).toEqual({
      path: inside("m/x"),
      size: 10,
      contentBase64,
    });
    expect((await call("stat", { path: "m/x" })).result).toMatchObject({ entryType: "file", size: 10 });
    expect((await call("mkdir", { path: "m/y" })).result).toEqual({ path: inside("m/y") });
    expect((await call("move", { from: "m/x", to: "m/y/x" })).result).toMatchObject({ to: inside("m/y/x") });
    const archive = tarOf({ name: "z", content: "z" }).toString("base64");
    expect((await call("upload_batch", { path: "m", contentBase64: archive })).result).toEqual({
      paths: [inside("m/z")],
      truncated: false,
    });
    expect((await call("list_entries", { path: "m" })).result.entries).toHaveLength(2);
    expect((await call("delete_entry", { path: "m", recursive: true })).result).toEqual({
      path: inside("m"),
    });
    expect((await call("read_file", { path: "secret" })).error.message).toContain("not for you");
    expect((await call("read_file", { path: "../x" })).error.code).toBe(-32602);
    expect((await call("read_file", {})).error.code).toBe(-32602);
  });
});

describe("an archive", () => {
  const upload = (served: Served, path: string, body: Uint8Array, headers: Record<string, string> = TAR) =>
    served.ask("POST", `/v1/fs/upload-batch${at(path)}`, { headers, body });

  test("is unpacked, in every form of names", async () => {
    const served = await serve();
    const long = `${"d".repeat(90)}/${"e".repeat(90)}/f`;
    const parts: TarPart[] = [
      { name: "folder/", type: "5" },
      { name: "./folder/a", content: "a" },
      { name: "run", content: "#!", mode: 0o755 },
      paxOf({ path: long }),
      { name: "short", content: "long" },
    ];
    const answer = await upload(served, "in", tarOf(...parts));
    expect(answer.body).toEqual({
      paths: ["folder/a", "run", long].map((name) => inside(`in/${name}`)),
      truncated: false,
    });
    expect(await readFile(inside(`in/${long}`), "utf8")).toBe("long");
    expect((await stat(inside("in/run"))).mode & 0o777).toBe(0o755);
    await promisify(execFile)("tar", ["-cf", "../made.tar", "."], { cwd: inside("in") });
    const made = await readFile(inside("made.tar"));
    const { body } = await upload(served, "again", made);
    expect(Object(body).paths).toHaveLength(3);
    expect(await readFile(inside(`again/${long}`), "utf8")).toBe("long");
    expect((await readdir(inside("again"))).toSorted()).toEqual(["folder", "run", "d".repeat(90)].toSorted());
  });

  const HOSTILE: readonly (readonly [string, number, readonly TarPart[] | Buffer])[] = [
    ["an absolute name", 400, [{ name: "/tmp/out", content: "x" }]],
    ["a name that leads upwards", 400, [{ name: "a/../../out", content: "x" }]],
    ["an extended name that leads upwards", 400, [paxOf({ path: "../out" }), { name: "x", content: "x" }]],
    ["a long name that leads upwards", 400, [{ name: "L", type: "L", content: "../out" }, { name: "x" }]],
    ["a symbolic link", 400, [{ name: "l", type: "2", link: "/etc" }]],
    [
      "a file through its own link",
      400,
      [
        { name: "l", type: "2", link: "/tmp" },
        { name: "l/x", content: "x" },
      ],
    ],
    ["a hard link", 400, [{ name: "h", type: "1", link: "/etc/passwd" }]],
    ["a device", 400, [{ name: "d", type: "3" }]],
    ["a pipe", 400, [{ name: "p", type: "6" }]],
    ["a sparse file", 400, [{ name: "s", type: "S" }]],
    ["an extended sparse file", 400, [paxOf({ "GNU.sparse.size": "1" }), { name: "s" }]],
    ["an unknown type", 400, [{ name: "s", type: "V" }]],
    ["an extended header that is huge", 400, [{ name: "x", type: "x", size: 2 ** 31 }]],
    ["a size that is no number", 400, [paxOf({ size: "-1" }), { name: "x" }]],
    ["a size beyond every disk", 413, [paxOf({ size: "999999999999999" }), { name: "x" }]],
    ["an end in the middle of a file", 400, tarOf({ name: "x", size: 4_096 }).subarray(0, 1_024)],
    ["a wrong checksum", 400, Buffer.from(tarOf({ name: "x" })).fill("y", 0, 1)],
    ["no archive at all", 400, Buffer.from("hello ".repeat(200))],
    ["a NUL in an extended name", 400, [paxOf({ path: "a\0/../../b" }), { name: "../x" }]],
    [
      "a folder and a file of one name",
      409,
      [
        { name: "n/", type: "5" },
        { name: "n", content: "x" },
      ],
    ],
    [
      "a blocked name",
      403,
      [
        { name: "fine", content: "x" },
        { name: "secret", content: "x" },
      ],
    ],
    ["many headers without an entry", 400, Array.from({ length: 40 }, () => paxOf({ comment: "x" }))],
  ];

  test.each(HOSTILE)("with %s is refused with %s and changes nothing", async (_, status, given) => {
    const served = await serve();
    const folder = `hostile/${_}`;
    await mkdir(inside(folder), { recursive: true });
    const archive = Buffer.isBuffer(given) ? given : tarOf({ name: "before", content: "x" }, ...given);
    expect((await upload(served, folder, archive)).status).toBe(status);
    expect(await readdir(inside(folder))).toEqual([]);
  });

  test("is recorded when its files are placed, with their hashes, also where that fails half way", async () => {
    const served = await serve();
    const { ledger } = home();
    const results = async (count: number) => {
      const read = async () =>
        (await ledger.read({ limit: 1_000 })).filter(({ entry }) => entry.quality === "tool_result");
      await expect.poll(async () => (await read()).length).toBe(count);
      return (await read()).map(({ entry }) => entry.payload);
    };
    const writtenOf = (folder: string, content: Readonly<Record<string, string>>) =>
      Object.entries(content).map(([name, text]) => ({
        path: inside(`${folder}/${name}`),
        bytes: text.length,
        sha256: createHash("sha256").update(text).digest("hex"),
        content_hash: expect.any(String),
      }));
    const before = (await ledger.read({ limit: 1_000 })).filter(
      ({ entry }) => entry.quality === "tool_result",
    );
    const parts = Object.entries({ a: "1", "b/c": "22", d: "333" }).map(([name, content]) => ({
      name,
      content,
    }));
    expect((await upload(served, "whole", tarOf(...parts))).status).toBe(200);
    const whole = (await results(before.length + 2)).slice(before.length);
    expect(whole).toContainEqual(
      expect.objectContaining({
        outcome: "completed",
        written: writtenOf("whole", { a: "1", "b/c": "22", d: "333" }),
      }),
    );
    await mkdir(inside("half/d"), { recursive: true });
    const { status, body } = await upload(served, "half", tarOf(...parts));
    expect([status, Object(body).detail]).toEqual([
      409,
      `d is a folder; 2 of 3 files were placed before: ${inside("half/a")}, ${inside("half/b/c")}`,
    ]);
    const half = (await results(before.length + 4)).slice(before.length + 2);
    expect(half.map((payload) => Object(payload).outcome)).toEqual(["failed", "failed"]);
    expect(half).toContainEqual(
      expect.objectContaining({ written: writtenOf("half", { a: "1", "b/c": "22" }) }),
    );
    // Of an archive that is refused in its second part, the first is not recorded as done.
    const many = Array.from({ length: 70 }, (_, name) => ({ name: `${name}`, content: "x" }));
    expect((await upload(served, "many", tarOf(...many, { name: "secret" }))).status).toBe(403);
    const refused = (await results(before.length + 6)).slice(before.length + 4);
    expect(refused.map((payload) => Object(payload).outcome)).toEqual(["failed", "failed"]);
    expect(JSON.stringify(refused)).not.toContain("sha256");
  });

  test("is not unpacked through links of the folder, and not of another type", async () => {
    const served = await serve();
    await mkdir(inside("linked"), { recursive: true });
    await symlink(home().base, inside("linked/out"));
    expect((await upload(served, "linked", tarOf({ name: "out/x", content: "x" }))).status).toBe(409);
    await expect(lstat(join(home().base, "x"))).rejects.toThrow("ENOENT");
    expect((await upload(served, "linked", tarOf(), { "content-type": "text/plain" })).status).toBe(415);
  });
});

describe("a caller without the rights of an admin", () => {
  /** A folder that is not the caller's, with a file in it. */
  const others = async () => {
    const outside = join(home().base, "outside");
    await mkdir(outside, { recursive: true });
    await writeFile(join(outside, "file"), "of others");
    return outside;
  };

  test("has the folders of its tenant, and reaches no others", async () => {
    const served = await serve();
    const outside = await others();
    const { secret: as } = await served.person();
    const put = { headers: BYTES, body: "x", as };
    expect((await served.ask("PUT", `/v1/fs/file${at("mine")}`, put)).status).toBe(200);
    for (const path of [outside, join(outside, "file"), "/etc/passwd", "/", home().base])
      expect([path, (await served.ask("GET", `/v1/fs/stat${at(path)}`, { as })).status]).toEqual([path, 403]);
    await link(join(outside, "file"), inside("hard"));
    expect((await served.ask("GET", `/v1/fs/file${at("hard")}`, { as })).status).toBe(403);
    // It replaces the name, not what the other names lead to.
    expect((await served.ask("PUT", `/v1/fs/file${at("hard")}`, put)).status).toBe(200);
    expect(await readFile(join(outside, "file"), "utf8")).toBe("of others");
  });

  test("of another tenant has a folder that is made for it, and rules of its own", async () => {
    const served = await serve();
    const own = join(home().harness.home, "tenants", "globex");
    await mkdir(own, { recursive: true });
    const rule = "{ name: none, condition: {}, verdict: blocked, reason: globex writes nothing }";
    await writeFile(join(own, "constitution.yaml"), `tool_rules: [${rule}]\n`);
    const { secret: as } = await served.person({ tenant: "globex" });
    await home().harness.policies.refresh();
    const put = await served.ask("PUT", `/v1/fs/file${at("mine")}`, { headers: BYTES, body: "x", as });
    expect([put.status, put.text]).toEqual([403, expect.stringContaining("globex writes nothing")]);
    const { secret } = await served.person({ tenant: "acme" });
    const none = await served.ask("GET", "/v1/fs/entries", { as: secret });
    expect([none.status, none.text]).toEqual([404, expect.stringContaining("was given no folder")]);
  });

  test("gets none of 200 attacks through", async () => {
    const served = await serve();
    const outside = await others();
    const { secret: as } = await served.person();
    await mkdir(inside("attacked/real"), { recursive: true });
    const links: Record<string, string> = {
      up: "../..",
      far: outside,
      top: "/",
      proc: "/proc/self",
      home: home().harness.home,
      file: join(outside, "file"),
      chain: "far",
      dangling: join(outside, "made"),
      loop: "loop",
      inward: "real/../../../outside",
    };
    for (const [name, target] of Object.entries(links)) await symlink(target, inside(`attacked/${name}`));
    await promisify(execFile)("mkfifo", [inside("attacked/pipe")]);
    const upwards = ["..", "../..", "a/../..", "./..", "..//", "attacked/../../outside"].flatMap((path) => [
      path,
      `${path}/outside/file`,
      `${home().workspace}/${path}/outside/file`,
    ]);
    const throughLinks = Object.keys(links).flatMap((name) => [
      `attacked/${name}`,
      `attacked/${name}/file`,
      `attacked/${name}/outside/file`,
      `attacked/./${name}//file`,
    ]);
    const absolute = [
      ...[outside, join(outside, "file"), "/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/root"],
      ...["/dev/zero", "/dev/stdin", "/sys/kernel", "/run", "/", "//", "/./etc/passwd", home().harness.home],
      ...[join(home().harness.home, "reins.db"), `${home().workspace}-other/file`, "~/.ssh/id_rsa\0", "a\0b"],
    ];
    const paths = [...upwards, ...throughLinks, ...absolute];
    const attacks = paths.flatMap((path) => [
      ["GET", `/v1/fs/file${at(path)}`],
      ["PUT", `/v1/fs/file${at(path.endsWith("file") ? path : `${path}/new`)}`],
      ["GET", `/v1/fs/entries${at(path)}`],
      ["POST", `/v1/fs/mkdir${at(`${path}/folder`)}`],
    ]);
    expect(attacks.length).toBeGreaterThan(200);
    const passed: string[] = [];
    for (const [method = "", path = ""] of attacks) {
      const body = method === "PUT" ? { body: "attack", headers: BYTES } : {};
      const { status } = await served.ask(method, path, { as, ...body });
      if (status < 400 || status >= 500) passed.push(`${status} ${method} ${decodeURIComponent(path)}`);
    }
    expect(passed).toEqual([]);
    expect(await readdir(outside)).toEqual(["file"]);
    expect(await readFile(join(outside, "file"), "utf8")).toBe("of others");
    expect((await served.ask("GET", `/v1/fs/file${at("attacked/pipe")}`, { as })).status).toBe(409);
  });

  test("is not followed where folders are swapped for links while they are used", async () => {
    const served = await serve();
    const outside = join(home().base, "outside-of-race");
    await mkdir(outside);
    await writeFile(join(outside, "file"), "of others");
    const { secret: as } = await served.person();
    await mkdir(inside("race/real"), { recursive: true });
    await writeFile(inside("race/real/file"), "own");
    await writeFile(join(outside, "only-of-others"), "of others");
    let isOver = false;
    const swapping = (async () => {
      const [real, spare] = [inside("race/real"), inside("race/spare")];
      // Requests make the folder anew while it is away, so that steps may fail.
      const attempt = (step: Promise<unknown>) => step.catch(() => undefined);
      while (!isOver) {
        await attempt(rename(real, spare));
        await attempt(rm(real, { recursive: true }));
        await attempt(symlink(outside, real));
        await attempt(rm(real, { recursive: true }));
        await attempt(rename(spare, real));
      }
    })();
    const seen = new Set<string>();
    for (let round = 0; round < 30; round += 1) {
      const read = await served.ask("GET", `/v1/fs/file${at("race/real/file")}`, { as });
      seen.add(read.status === 200 ? read.text : String(read.status));
      const put = { as, headers: BYTES, body: "own" };
      await served.ask("PUT", `/v1/fs/file${at(`race/real/new-${round}`)}`, put);
      await served.ask("DELETE", `/v1/fs/entry${at("race/real/file-of-others")}`, { as });
      await served.ask("POST", `/v1/fs/upload-batch${at("race/real")}`, {
        as,
        headers: TAR,
        body: tarOf({ name: "sub/x", content: "own" }),
      });
      const move = (from: string, to: string) =>
        served.ask("POST", "/v1/fs/move", { as, body: { from, to, overwrite: true } });
      await writeFile(inside("race/moved"), "own");
      await move("race/moved", `race/real/moved-${round}`);
      await move("race/real", "race/elsewhere/real");
      await move("race/elsewhere/real", "race/real");
      await served.ask("POST", `/v1/fs/mkdir${at(`race/real/made-${round}/deep`)}`, { as });
      await served.ask("DELETE", `/v1/fs/entry${at("race/real")}&recursive=true`, { as });
      const stat = await served.ask("GET", `/v1/fs/stat${at("race/real/only-of-others")}`, { as });
      seen.add(stat.status === 200 ? "of others" : "not there");
      const listed = await served.ask("GET", `/v1/fs/entries${at("race/real")}`, { as });
      if (listed.text.includes("only-of-others")) seen.add("of others");
    }
    isOver = true;
    await swapping;
    expect(seen).not.toContain("of others");
    expect((await readdir(outside)).toSorted()).toEqual(["file", "only-of-others"]);
    expect(await readFile(join(outside, "file"), "utf8")).toBe("of others");
  });
});
