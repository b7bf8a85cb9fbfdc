import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, runReins } from "./support/reins.ts";

/** The address of a web server that answers in its own way. */
async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

describe("a Reins elsewhere", () => {
  it("is reached by its address with a token, from flags or from the environment", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    const [url, token] = [new URL(reins.addressOf("http")).origin, await home.startToken()];
    const id = await home.ask();
    const file = join(folder, "token");
    await writeFile(file, `${token}\n`);
    const listed = await runReins(["approvals", "list", "--json", "--url", url, "--token", `@${file}`]);
    expect(JSON.parse(listed.stdout)).toMatchObject({ approvals: [{ id }] });
    const environment = { REINS_URL: `${url}/`, REINS_TOKEN: token };
    expect((await runReins(["approvals", "approve", id], environment)).stdout).toContain("allowed once");
    const { code, stderr } = await runReins(["roster", "list"], {
      REINS_URL: url,
      REINS_TOKEN: "reins_wrong",
    });
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("REINS_TOKEN") });
    expect(stderr).not.toContain("reins_wrong");
    expect(await runReins(["roster", "list", "--url", url])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("A bearer token, an x-api-key or a login is needed."),
    });
  });

  it("distinguishes a server that is down from one that is not Reins", async () => {
    const gone = await serving(() => undefined);
    const closed = gone.replace(/\d+$/, "1");
    expect(await runReins(["user", "list", "--url", closed])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`Reins cannot be reached at ${closed}: nothing listens there`),
    });
    const page = await serving((_, response) => void response.end("<html>\u001b[2J"));
    expect(await runReins(["user", "list", "--url", page])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`The server at ${page} is not a compatible Reins.`),
    });
    const moved = await serving((_, response) => void response.writeHead(302, { location: closed }).end());
    expect((await runReins(["user", "list", "--url", moved])).stderr).toContain(
      "It responded with status 302.",
    );
    const cut = await serving((request) => void request.socket.destroy());
    expect(await runReins(["user", "list", "--url", cut, "--json"])).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringMatching(/^\{"error":\{"message":"Reins cannot be reached at /),
    });
  });

  it("that goes on answering is not listened to for ever", async () => {
    const endless = await serving((_, response) => {
      const piece = Buffer.alloc(1024 * 1024, "x");
      const more = () => {
        while (response.write(piece));
      };
      response.on("drain", more);
      more();
    });
    const { code, stderr } = await runReins(["user", "list", "--url", endless]);
    expect(code).toBe(3);
    expect(stderr).toContain("The response is longer than");
  });

  it("gets a token only where that was asked for", async () => {
    expect((await runReins(["user", "list", "--token", "x"])).stderr).toContain("--token has no effect");
    expect((await runReins(["user", "list", "--home", "x", "--url", "http://x"])).code).toBe(2);
  });
});
