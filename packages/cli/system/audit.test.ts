import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { reinsCommand } from "./support/reins.ts";

const SECRET = "a-secret-of-the-receiver";

interface Got {
  readonly request: IncomingMessage;
  readonly body: string;
}

type Reply = number | "never" | { readonly location: string };

/** Receives audit records over HTTP; `reply` says how each request is answered. */
async function receiver(reply: (index: number) => Reply = () => 204) {
  const got: Got[] = [];
  const accepted: string[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    got.push({ request, body });
    const answer = reply(got.length - 1);
    if (answer === "never") return;
    if (typeof answer !== "number") return void response.writeHead(307, answer).end();
    if (answer < 300) accepted.push(body);
    response.writeHead(answer).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}/in`, got, lines: () => linesOf(accepted.join("")) };
}

function linesOf(text: string) {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

async function configured(home: OperatedHome, text: string): Promise<void> {
  await mkdir(home.path, { recursive: true, mode: 0o700 });
  await writeFile(join(home.path, "reins.yaml"), text);
}

describe("the audit export of the server", () => {
  it("loses nothing and repeats no more than a batch, through kill -9, failures and a redirect", async () => {
    const home = new OperatedHome();
    const inside = await receiver();
    const siem = await receiver((index) => {
      if (index === 0) return 500;
      if (index === 1) return { location: inside.url };
      return index === 2 ? "never" : 204;
    });
    const place = `{ name: siem, to: "${siem.url}", format: ocsf, secret: ${SECRET} }`;
    await configured(home, `audit: [${place}, { name: disk, to: audit.jsonl }]\n`);
    const first = await home.up();
    for (const session of ["a", "b", "c"]) await home.decide({ session });
    await expect.poll(() => siem.got.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(3);
    first.signal("SIGKILL");
    await first.ended;
    const second = await home.up();
    await home.decide({ session: "d" });
    const stored = async () => linesOf(await home.done("audit", "export"));
    const size = async () => (await stored()).length;
    const reaches = async (places: readonly number[]) => new Set(places).size >= (await size());
    const posted = () => siem.lines().map(({ metadata }) => metadata.sequence);
    const written = async () => linesOf(await readFile(join(home.path, "audit.jsonl"), "utf8"));
    const onDisk = async () => (await written()).map(({ seq }) => seq);
    await expect.poll(async () => reaches(posted()), { timeout: 30_000 }).toBe(true);
    await expect.poll(async () => reaches(await onDisk()), { timeout: 30_000 }).toBe(true);
    await home.stop(second);
    const entries = await stored();
    const cids = new Map(entries.map(({ seq, entry }) => [seq, entry.cid]));
    for (const { metadata } of siem.lines()) expect(metadata.uid).toBe(cids.get(metadata.sequence));
    expect(await onDisk()).toEqual((await onDisk()).map((_, index) => index));
    expect(inside.got).toEqual([]);
    const { request, body } = siem.got.at(-1) as Got;
    const [, time, signature] = /^t=(\d+),v1=(\w+)$/.exec(String(request.headers["reins-signature"])) ?? [];
    expect(createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex")).toBe(signature);
    expect(request.headers["content-type"]).toBe("application/x-ndjson");
    expect(body).not.toContain(SECRET);
  });

  it("has standard output for its records alone, also those of commands, whose output is another's", async () => {
    const home = new OperatedHome();
    await configured(home, 'audit: [{ name: out, to: "-" }]\n');
    const added = await home.done("agents", "add", "mine", "--json", "--", process.execPath, "x.js");
    expect(JSON.parse(added)).toMatchObject({ agent: "mine" });
    const reins = home.start("up", "--port", "0", "--workspace", home.workspace);
    const has = (count: number) => reins.lines.length >= count;
    await expect.poll(() => has(2) && reins.stderr.includes("listening"), { timeout: 30_000 }).toBe(true);
    const stored = linesOf(await home.done("audit", "export"));
    await expect.poll(() => has(stored.length), { timeout: 30_000 }).toBe(true);
    const records = Array.from({ length: 120 }, (_, index) => home.decide({ session: `s${index % 5}` }));
    await Promise.all(records);
    await home.stop(reins);
    expect(reins.log.slice(0, stored.length)).toEqual(stored);
    expect(reins.log.map(({ seq }) => seq)).toEqual(reins.log.map((_, index) => index));

    // A reader that hangs stops nothing. A pipe with a name holds less than those between processes.
    await rm(join(home.path, "audit"), { recursive: true });
    const fifo = join(home.workspace, "unread");
    execFileSync("mkfifo", [fifo]);
    const unread = await open(fifo, "r+");
    onTestFinished(() => unread.close());
    const [command = "", ...args] = reinsCommand;
    const hanging = spawn(command, [...args, "up", "--port", "0"], {
      ...{ cwd: home.workspace, stdio: ["ignore", unread.fd, "pipe"] },
      env: { PATH: process.env.PATH, HOME: home.path, REINS_ACP_REGISTRY_URL: "off", ...home.environment },
    });
    onTestFinished(() => void hanging.kill("SIGKILL"));
    let told = "";
    hanging.stderr?.on("data", (text: Buffer) => {
      told += text;
    });
    await expect.poll(() => told, { timeout: 30_000 }).toContain("recorded in the ledger");
    hanging.kill("SIGTERM");
    expect(await once(hanging, "exit")).toEqual([0, null]);
  });

  it("is watched by the doctor, and never stops a decision", async () => {
    const home = new OperatedHome();
    const place = `{ name: siem, to: "http://127.0.0.1:9/in", secret: ${SECRET} }`;
    await configured(home, `audit: [${place}]\n`);
    const reins = await home.up();
    expect(await home.decide()).toMatchObject({ decision: expect.any(String) });
    const finding = async () => {
      const { stdout } = await home.run("doctor", "--json");
      return JSON.parse(stdout).findings.find(({ check }: { check: string }) => check === "audit");
    };
    await expect
      .poll(finding, { timeout: 30_000 })
      .toMatchObject({ state: "wrong", found: expect.stringContaining('"siem" stands still since') });
    await home.stop(reins);
    await configured(home, 'audit: [{ name: siem, to: "https://siem.example" }]\n');
    expect(await home.run("up", "--port", "0")).toMatchObject({
      stderr: expect.stringContaining("a secret"),
    });
  });
});

describe("reins audit export", () => {
  it("appends to a file what is new, posts with a durable cursor, and names errors", async () => {
    const home = await OperatedHome.begun();
    const file = join(home.workspace, "audit.jsonl");
    const export_ = (...args: string[]) => home.run("audit", "export", ...args);
    await export_("--to", file);
    const before = linesOf(await readFile(file, "utf8"));
    const { url, lines, got } = await receiver();
    const keyFile = join(home.workspace, "key");
    await writeFile(keyFile, `${SECRET}\n`);
    const post = ["--format", "ocsf", "--to", url, "--secret", `@${keyFile}`];
    expect(await export_(...post)).toMatchObject({ code: 0 });
    expect(lines()).toHaveLength(before.length);
    expect((await export_(...post)).code).toBe(0);
    expect(got).toHaveLength(1);
    const middle = before[1].cursor;
    const rest = await export_("--from", middle);
    expect(linesOf(rest.stdout)).toEqual(before.slice(2));
    await home.done("user", "add", "ann", "--name", "Ann", "--email", "ann@example.com");
    expect(await export_("--to", file)).toMatchObject({ code: 0 });
    const after = linesOf(await readFile(file, "utf8"));
    expect(after.length).toBeGreaterThan(before.length);
    expect(after.map(({ seq }) => seq)).toEqual(after.map((_, index) => index));
    for (const [args, words] of [
      [["--from", "yesterday"], "--from is"],
      [["--from", `1.${"0".repeat(64)}`], "another one"],
      [["--to", url], "needs a secret"],
      [["--to", url, "--secret", "short"], "fewer than 16"],
      [["--to", "http://127.0.0.1:9/", "--secret", SECRET], "stopped"],
      [["--to", home.workspace], "cannot be written"],
    ] as const) {
      const { code, stderr } = await export_(...args);
      expect(code, stderr).not.toBe(0);
      expect(stderr).toContain(words);
    }
  });
});
