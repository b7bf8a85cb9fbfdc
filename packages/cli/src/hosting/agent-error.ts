import { CODE, RpcError } from "@reins/acp";
import { type AgentEntry, AgentError } from "@reins/agents";
import { REFUSED } from "@reins/host";
import { CliError, EXIT } from "../errors.ts";
import { printable } from "../output.ts";

/** What npm prints without a network. */
const OFFLINE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT)\b/;

/** Explains an agent's error and what to do. Returns other errors unchanged. */
export function agentError(error: unknown, agent: string, entry?: AgentEntry): unknown {
  if (error instanceof AgentError) return catalogueError(error, agent);
  if (!(error instanceof RpcError)) return error;
  const message = printable(error.message);
  if (error.code === CODE.authRequired && entry) return loginError(error, entry);
  if (error.code === REFUSED)
    return failed(message, "To see why: reins ledger log. The rules are in constitution.yaml.", error);
  return failed(message, "Run the same command with --verbose to see more.", error);
}

function catalogueError(error: AgentError, agent: string): CliError {
  const message = printable(error.message);
  switch (error.code) {
    case "unknown_agent":
      return new CliError(message, {
        next: "To see them all: reins agents list. To add one of your own: agents.yaml in the home.",
        cause: error,
      });
    case "install_failed":
      if (OFFLINE.test(message))
        return failed(
          `${agent} is not installed, and the npm registry cannot be reached.`,
          `Connect to the network, then: reins agents install ${agent}`,
          error,
        );
      return failed(message, `To try again: reins agents install ${agent}`, error);
    case "agent_not_installed":
      return failed(message, `To install it: reins agents install ${agent}`, error);
    case "unchecked":
      return failed(message, `Give it: reins agents install ${agent} --sha256 <hex>`, error);
    case "not_verified":
      return failed(message, "agents.yaml in the home requires this (require_verified).", error);
    case "invalid_settings":
      return failed(message, "Nothing was changed.", error);
    case "cancelled":
      return failed(message, "An incomplete install is never used; run it again.", error);
    case "probe_failed":
      return failed(message, `To reinstall it: reins agents install ${agent} --reinstall`, error);
    default:
      return failed(message, "To see which agents there are: reins agents list", error);
  }
}

/** Names the variables and files that an agent takes its credentials from. */
function loginError(error: RpcError, { name, credentials }: AgentEntry): CliError {
  const ways = [
    ...(credentials.variables.length > 0 ? [`Set ${credentials.variables.join(" or ")}.`] : []),
    ...credentials.files.map(
      ({ from }) => `Log in with ${name} itself, which writes ~/${from}; Reins reads it from there.`,
    ),
  ];
  const next = ways.length > 0 ? ways.join("\nOr: ") : `Log in with ${name} itself, then try again.`;
  return failed(`${name} needs a login: ${printable(error.message)}`, next, error);
}

function failed(message: string, next: string, cause: Error): CliError {
  return new CliError(message, { next, exitCode: EXIT.failed, cause });
}
