import { CliError } from "../errors/cli-error.ts";
import { textOf } from "../errors/render.ts";
import { systemCode } from "../errors/system-code.ts";
import { EXIT } from "../exit-codes.ts";

/** Why listening on a port failed, and what to do about it. */
export function portFault(error: unknown, host: string, port: number, command: string): CliError {
  const place = `${host}:${port}`;
  switch (systemCode(error)) {
    case "EADDRINUSE":
      return new CliError(`Port ${port} on ${host} is in use by another program.`, {
        next: `Stop that program, or choose another port: ${command} --port ${port + 1} (0 takes any free one).`,
        exitCode: EXIT.taken,
        cause: error,
      });
    case "EACCES":
      return new CliError(`This user may not listen on port ${port}.`, {
        next: `Ports below 1024 are for administrators; choose another: ${command} --port 18789`,
        cause: error,
      });
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new CliError(`This machine has no address ${host}.`, {
        next: "Give --host an address of this machine: 127.0.0.1 for this machine only, 0.0.0.0 for all networks.",
        cause: error,
      });
    default:
      return new CliError(`Cannot listen on ${place}: ${textOf(error)}`, {
        next: "Choose another --host or --port.",
        exitCode: EXIT.failed,
        cause: error,
      });
  }
}
