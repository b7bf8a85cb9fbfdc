import { once } from "node:events";
import { connect as dial } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { logInToServer } from "../src/login/log-in.ts";
import { type LoginStore, loginHeader, type StoredLogin } from "../src/login/stored-login.ts";
import { connect, textIn } from "./fixtures/client.ts";
import { wrapped } from "./fixtures/home.ts";
import { loginLab } from "./fixtures/login-lab.ts";

function memory(): LoginStore {
  const logins = new Map<string, StoredLogin>();
  return {
    read: async (url) => logins.get(url),
    write: async (url, login) => void logins.set(url, login),
  };
}

/** What a browser does, of a person who agrees. */
const agree = async (authorization: URL) => {
  const page = await fetch(authorization);
  expect(await page.text()).toContain("You may close this page");
};

/** A server behind a login, to which the operator is logged in, and how it is declared. */
async function loggedIn(open = agree) {
  const web = await loginLab();
  const url = `${web.url}/mcp`;
  const logins = memory();
  const signal = AbortSignal.timeout(60_000);
  const logIn = () => logInToServer({ url, store: logins, open, signal });
  const scope = await logIn();
  const server = { type: "http" as const, name: "lab", url, headers: [await loginHeader(logins, url)] };
  return { web, url, logins, logIn, scope, server };
}

const echo = { name: "echo", arguments: { text: "hi" } };

describe("a server that wants a login", () => {
  test("is reached with the tokens of a login in a browser, which the agent does not see", async () => {
    const { web, logins, scope, server } = await loggedIn();
    expect(scope).toBe("notes");
    const { wrapped: given } = await wrapped(server, "stdio", { logins });
    const client = await connect(given.server);
    expect(textIn(await client.callTool(echo))).toContain("hi");
    const calls = web.requests.filter(({ url }) => new URL(url).pathname === "/mcp").slice(1);
    expect(calls.length).toBeGreaterThan(1);
    for (const { headers } of calls) expect(headers.get("authorization")).toBe(`Bearer ${web.issued[0]}`);
    expect(web.issued.some((token) => JSON.stringify(given.server).includes(token))).toBe(false);
  });

  test("gets no token for a declaration that names the login without knowing it", async () => {
    const { web, logins, server } = await loggedIn();
    const [header] = server.headers;
    const asked = web.requests.length;
    const forged = [{ name: "Authorization", value: "Reins-Login guess" }];
    const elsewhere = { ...server, url: `${web.url}/other`, headers: [...(header ? [header] : [])] };
    for (const declared of [{ ...server, headers: forged }, elsewhere])
      await expect(wrapped(declared, "stdio", { logins })).rejects.toThrow("a login that is not its own");
    expect(web.requests).toHaveLength(asked);
  });

  test("has its token renewed once for all calls that need it", async () => {
    const { web, url, logins, server } = await loggedIn();
    const { wrapped: given } = await wrapped(server, "stdio", { logins });
    const client = await connect(given.server);
    web.revoke();
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.callTool(echo)));
    for (const answer of answers) expect(textIn(answer)).toContain("hi");
    expect(web.renewals).toBe(1);
    expect((await logins.read(url))?.tokens).toMatchObject({
      accessToken: web.issued[2],
      refreshToken: web.issued[3],
    });
  });

  test("and takes no token any more is reported with the command, until there is a new login", async () => {
    const { web, url, logins, logIn, server } = await loggedIn();
    const { wrapped: given } = await wrapped(server, "stdio", { logins });
    const client = await connect(given.server);
    web.revoke(true);
    const refused = await client.callTool(echo).catch(String);
    const text = JSON.stringify(refused);
    expect(text).toContain(`it wants a login; the operator runs: reins mcp login ${url}`);
    for (const token of web.issued) expect(text).not.toContain(token);
    await logIn();
    expect(textIn(await client.callTool(echo))).toContain("hi");
  });

  test("and speaks in the way of 2024 is reported with the command, too", async () => {
    const { web, url, logins, server } = await loggedIn();
    web.revoke(true);
    const { wrapped: given } = await wrapped({ ...server, type: "sse" }, "stdio", { logins });
    await expect(connect(given.server)).rejects.toThrow(`reins mcp login ${url}`);
  });

  test("that sends a request elsewhere gets no token there", async () => {
    const { web, logins, server } = await loggedIn();
    web.isMoved = true;
    const { wrapped: given } = await wrapped(server, "stdio", { logins });
    await expect(connect(given.server)).rejects.toThrow("where its credentials must not go");
    expect(web.requests.filter(({ url }) => url.endsWith("/moved"))).toEqual([]);
  });

  test("is logged in to with the answer to what was asked, and no other", async () => {
    const { scope } = await loggedIn(async (authorization) => {
      const back = new URL(authorization.searchParams.get("redirect_uri") ?? "");
      back.search = "?code=stolen&state=guess";
      expect((await fetch(back)).status).toBe(404);
      await agree(authorization);
    });
    expect(scope).toBe("notes");
  });

  test.each([
    "GET //",
    "GET //[",
    "GET http://[/callback",
    "OPTIONS *",
    "GET /%",
    "POST /callback",
    "GET /callback?state",
  ])("is logged in to whatever else comes to the address of the answer: %s", async (line) => {
    const { scope } = await loggedIn(async (authorization) => {
      const { port } = new URL(authorization.searchParams.get("redirect_uri") ?? "");
      const socket = dial(Number(port), "127.0.0.1");
      await once(socket, "connect");
      socket.end(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 40[04] /);
      await agree(authorization);
    });
    expect(scope).toBe("notes");
  });
});
