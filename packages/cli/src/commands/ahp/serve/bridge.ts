import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CliError, EXIT } from "../../../errors.ts";

/**
 * Puts the Reins that runs in a home behind stdin and stdout: both sides speak one message per line, so they are passed
 * on as they are. Ends with stdin once everything was answered, and with the Reins.
 */
export async function bridgeStdio(
  home: string,
  { input, output }: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream },
): Promise<void> {
  const socket = connect({ path: join(home, "ahp.sock"), allowHalfOpen: true });
  try {
    await once(socket, "connect");
  } catch (error) {
    throw new CliError(`No Reins answers in ${home}, and nothing is decided without one.`, {
      next: "Start it with reins up, name its home with --home, or give --handlers for a harness of your own.",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
  let hasEnded = false;
  const asked = pipeline(input, socket).then(() => {
    hasEnded = true;
  });
  const answered = pipeline(socket, output, { end: false });
  await Promise.race([answered, asked.then(() => answered)]);
  if (!hasEnded)
    throw new CliError("The Reins behind it has gone; whatever was not answered is not allowed.", {
      next: "Start it again with reins up.",
      exitCode: EXIT.unreachable,
    });
}
