import { errorMessage } from "@reins/kit";
import type { Access, Gateway } from "@reins/server";
import type { Harness } from "@reins/supervisor";
import { CliError, EXIT } from "../errors.ts";
import { operatorSocketIn } from "../home.ts";
import { isLocked, ledgerError } from "../ledger/ledger-error.ts";
import { type Notice, noticeOnStderr } from "../output.ts";
import { openHomeHarness } from "../reins/reins.ts";
import { openAccess, operatorGateway } from "../serving/gateway.ts";

/** The API of a home on which no Reins runs. */
interface HomeGateway {
  readonly gateway: Gateway;
  close(): Promise<void>;
}

/** Opens a home; this process holds its lock until it is closed. Rejects a ledger that was changed since it was last seen. */
export async function openHomeGateway(
  home: string,
  { json }: { readonly json?: boolean | undefined },
): Promise<HomeGateway> {
  const notice = noticeOnStderr(json);
  const access = await openAccess({ home });
  const opened = await openHomeHarness(home, notice).catch((error: unknown) => {
    throw isLocked(error) ? homeInUse(home, error) : ledgerError(error, home);
  });
  try {
    const gateway = await createGateway(access, opened.harness, notice);
    return { gateway, close: () => gateway.close().finally(() => opened.close()) };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function createGateway(access: Access, harness: Harness, notice: Notice): Promise<Gateway> {
  const report = (fields: object, message: string) =>
    notice("err" in fields ? `${message}: ${errorMessage(fields.err)}` : message);
  const ignore = () => undefined;
  return operatorGateway(access, harness, { debug: ignore, info: ignore, warn: report, error: report });
}

function homeInUse(home: string, cause: unknown): CliError {
  return new CliError(`Another process holds ${home}, and no Reins answers on ${operatorSocketIn(home)}.`, {
    next: "If Reins is starting or stopping, or another command runs, try again; else end that process.",
    exitCode: EXIT.taken,
    cause,
  });
}
