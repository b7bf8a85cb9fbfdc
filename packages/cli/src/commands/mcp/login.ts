import { logInToServer, loginAddress, loginHeader } from "@reins/host";
import { errorMessage, isLoopback } from "@reins/kit";
import { command, HOME } from "../../command.ts";
import { loginsOf } from "../../configuration/mcp-servers.ts";
import { CliError, EXIT } from "../../errors.ts";
import { openHome } from "../../home.ts";
import { printableLine } from "../../output.ts";
import { openInBrowser } from "../../serving/address.ts";
import { watchForStop } from "../../serving/stop.ts";

const PATIENCE_MS = 10 * 60_000;

/** The address of a server, as its login is kept. Tokens go over encrypted connections, or stay on this machine. */
function readAddress(given: string): string {
  const url = URL.parse(given);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url && isSafe && url.username === "" && url.password === "") return loginAddress(given);
  throw new CliError(`${given} is not an address to log in to.`, {
    next: "Give the https address of the server, as it is in reins.yaml.",
  });
}

function readPort(given: string): number {
  const port = Number(given);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new CliError(`--port ${given} is no port.`, { next: "Give a number from 1 to 65535." });
}

/** Logs in to an MCP server by OAuth, as its specification of authorization has it. */
export const loginCommand = command({
  summary: "log in to a server",
  description:
    "Logs in to a remote MCP server in a browser on this machine. The tokens are kept sealed in the home, sent to that server alone, and renewed.",
  inputs: {
    server: ["<server>", "its address", { read: readAddress }],
    clientId: [
      "--client-id <id>",
      "a client that was registered beforehand, or the https address of a document about one (default: registers one)",
    ],
    clientSecret: ["--client-secret <variable>", "the variable that holds the secret of that client"],
    scope: ["--scope <scope>", "what to ask for (default: what the server wants)"],
    port: [
      "--port <port>",
      "where the answer is awaited, for a registered client (default: any)",
      { read: readPort },
    ],
    home: HOME,
  },
  note: "Sessions use the login of a server of reins.yaml with login: true, and so does reins mcp <server>.",
  examples: [
    "reins mcp login https://notes.example.com/mcp",
    "reins mcp login --client-id reins --client-secret NOTES_SECRET --port 8085 https://notes.example.com/mcp",
  ],
  codes: {
    done: "logged in",
    failed: "the login failed, or no answer came within ten minutes",
    usage: "wrong usage",
  },
  async run({ server, home, clientId, clientSecret, scope, port }, { notice }) {
    const secret = clientSecret === undefined ? undefined : process.env[clientSecret];
    if (clientSecret !== undefined && (secret === undefined || clientId === undefined))
      throw new CliError(`--client-secret needs --client-id, and the variable ${clientSecret} set.`, {
        next: "Set the variable and name the client.",
      });
    await openHome(home, notice);
    const stop = watchForStop();
    const stopped = new AbortController();
    void stop.requested.then(() => stopped.abort(new Error("it was cancelled")));
    try {
      const granted = await logInToServer({
        ...{ url: server, store: await loginsOf(home), scope, port },
        client: clientId === undefined ? undefined : { id: clientId, secret },
        signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(PATIENCE_MS)]),
        open: async ({ href }) => {
          notice(`Log in here, in a browser on this machine: ${printableLine(href)}`);
          await openInBrowser(href, process.env);
        },
      });
      return {
        json: { server, scope: granted },
        text: () => `logged in to ${server}${granted === undefined ? "" : ` (${printableLine(granted)})`}\n`,
      };
    } catch (cause) {
      throw new CliError(`The login to ${server} failed: ${printableLine(errorMessage(cause))}`, {
        next: "Try again; a server that registers no clients needs --client-id.",
        exitCode: EXIT.failed,
        cause,
      });
    } finally {
      stop.dispose();
    }
  },
});

/** Forgets the tokens of a server. */
export const logoutCommand = command({
  summary: "forget the login to a server",
  description:
    "Removes the tokens of a server from the home. The server itself may accept them until they end; end them there too if they may be known to others.",
  inputs: { server: ["<server>", "its address", { read: readAddress }], home: HOME },
  examples: ["reins mcp logout https://notes.example.com/mcp"],
  codes: { done: "there is no login now", usage: "wrong usage" },
  async run({ server, home }, { notice }) {
    await openHome(home, notice);
    const logins = await loginsOf(home);
    const stored = await logins.read(server);
    if (stored) await logins.write(server, { handle: stored.handle });
    const removed = stored?.tokens !== undefined;
    return {
      json: { server, removed },
      text: () => (removed ? `logged out of ${server}\n` : `there was no login to ${server}\n`),
    };
  },
});

/** The header that names the login of a home to a server, if there is one. */
export async function loginOf(home: string, url: string) {
  const logins = await loginsOf(home);
  const stored = await logins.read(loginAddress(url));
  return stored?.tokens && loginHeader(logins, url);
}
