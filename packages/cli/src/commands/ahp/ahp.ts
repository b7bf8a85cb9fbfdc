import { group } from "../../command.ts";
import { conformanceCommand } from "./conformance.ts";
import { sendCommand } from "./send.ts";
import { serveCommand } from "./serve.ts";

export const ahpCommand = group("The Agent Harness Protocol: serve a harness, test one, query one.", {
  serve: serveCommand,
  conformance: conformanceCommand,
  send: sendCommand,
});
