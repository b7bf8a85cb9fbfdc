import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { folder, listening, runReins } from "./support/reins.ts";

const home = join(folder, "tls-home");

/** Makes a certificate for this machine, and its key. */
function certify(name: string): void {
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const named = ["-keyout", `${name}-key.pem`, "-out", `${name}.pem`, "-days", "1", "-subj", "/CN=localhost"];
  const known = ["-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", [...made, ...named, ...known], { cwd: home, stdio: "ignore" });
}

describe("reins up with a certificate", () => {
  beforeAll(async () => {
    await mkdir(home, { mode: 0o700 });
    for (const name of ["one", "other"]) certify(name);
  });

  it("serves HTTP/2 over TLS, as reins.yaml says, with files that lie in the home", async () => {
    await writeFile(join(home, "reins.yaml"), "tls: { cert: one.pem, key: one-key.pem }\n");
    const reins = await listening(["up", "--port", "0", "--home", home]);
    await reins.printed("is up");
    const address = reins.addressOf("http");
    expect(address).toMatch(/^https:/);
    expect(reins.addressOf("websocket")).toMatch(/^wss:/);
    const session = connect(new URL(address).origin, { ca: await readFile(join(home, "one.pem")) });
    // 503 while the home is being opened, 200 from then on.
    const health = async () => {
      const [headers] = await once(session.request({ ":path": "/v1/health" }), "response");
      return headers[":status"];
    };
    await expect.poll(health).toBe(200);
    expect(session.alpnProtocol).toBe("h2");
    session.destroy();
    await once(session, "close");
  });

  it.each([
    ["one.pem", undefined, "only --tls-cert is given"],
    ["nowhere.pem", "one-key.pem", "--tls-cert cannot be read"],
    ["one.pem", "other-key.pem", "key values mismatch"],
    ["one-key.pem", "one-key.pem", "cannot be used"],
  ])("says what is wrong with %s and %s", async (cert, key, message) => {
    await writeFile(join(home, "reins.yaml"), "");
    const named = ["--tls-cert", join(home, cert), ...(key ? ["--tls-key", join(home, key)] : [])];
    const said = await runReins(["up", "--port", "0", "--home", home, ...named]);
    expect(said).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});
