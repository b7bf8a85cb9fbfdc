import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approvalOperations, problem } from "@reins/api";
import { describe, expect, it, onTestFinished } from "vitest";
import { ApiClient } from "./api-client.ts";
import { resolveServer } from "./connect.ts";

describe("the server of a command", () => {
  it("is the one of the home, unless an address is given", () => {
    expect(resolveServer({ home: "/a" }, { REINS_URL: "http://x", REINS_TOKEN: "t" })).toEqual({
      home: "/a",
    });
    expect(resolveServer({}, { REINS_HOME: "/b", REINS_URL: "" })).toEqual({ home: "/b" });
  });

  it("is the one at the address, with its token", () => {
    const environment = {
      REINS_URL: "http://127.0.0.1:1",
      REINS_TOKEN: "from-environment",
      REINS_HOME: "/b",
    };
    expect(resolveServer({}, environment)).toEqual({
      url: new URL("http://127.0.0.1:1"),
      token: "from-environment",
    });
    expect(resolveServer({ url: "https://a.example/reins", secret: "flag" }, environment)).toEqual({
      url: new URL("https://a.example/reins"),
      token: "flag",
    });
    expect(resolveServer({ url: "http://127.0.0.1:1/ahp" }, {})).toMatchObject({
      url: new URL("http://127.0.0.1:1"),
    });
    expect(resolveServer({ url: "https://a.example" }, {})).toMatchObject({ token: undefined });
  });

  it("gets the token that its file holds when the one of before is refused", async () => {
    const sent: (string | undefined)[] = [];
    const server = createServer(({ headers }, response) => {
      sent.push(headers.authorization);
      const isValid = headers.authorization === "Bearer second";
      const answer = isValid ? { approvals: [] } : problem("unauthenticated", "the token has expired");
      const type = isValid ? "application/json" : "application/problem+json";
      response.writeHead(isValid ? 200 : 401, { "content-type": type }).end(JSON.stringify(answer));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const folder = await mkdtemp(join(tmpdir(), "reins-token-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "token");
    await writeFile(path, "first\n");
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const location = resolveServer({ url, secret: `@${path}` }, {});
    if (!location.url) throw new Error("an address is given");
    const client = ApiClient.at(location);
    await expect(client.call(approvalOperations.listApprovals)).rejects.toThrow("The token has expired.");
    await writeFile(path, "second\n");
    expect(await client.call(approvalOperations.listApprovals)).toEqual({ approvals: [] });
    expect(sent).toEqual(["Bearer first", "Bearer first", "Bearer second"]);
    await rm(path);
    await expect(ApiClient.at(location).call(approvalOperations.listApprovals)).rejects.toThrow(
      "--token names a file that cannot be read",
    );
  });

  it("rejects contradicting flags", () => {
    expect(() => resolveServer({ home: "/a", url: "http://x" }, {})).toThrow("two servers");
    expect(() => resolveServer({ secret: "t" }, {})).toThrow("--token has no effect");
  });

  it.each(["x", "ftp://x", "http://user:secret@x", "http://x?token=secret"])(
    "is no address like %s, which is not repeated where it may hold a secret",
    (url) => {
      expect(() => resolveServer({ url }, {})).toThrow(/^--url is not the address of a Reins\.$/);
    },
  );
});
