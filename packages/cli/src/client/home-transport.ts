import { errorMessage } from "@reins/kit";
import type { Access, Gateway, OpenHarness } from "@reins/server";
import type { Harness } from "@reins/supervisor";
import { CliError, EXIT } from "../errors.ts";
import { operatorSocketIn } from "../home.ts";
import { isLocked, ledgerError } from "../ledger/ledger-error.ts";
import { type Notice, noticeOnStderr } from "../output.ts";
import { openHomeHarness } from "../reins/reins.ts";
import { openAccess, operatorGateway } from "../serving/gateway.ts";
import type { ApiTransport, TransportRequest, TransportResponse } from "./transport.ts";

/** Opens a home on which no Reins runs. Meanwhile this process holds its lock. */
export class HomeTransport implements ApiTransport {
  readonly address: string;
  readonly #gateway: Gateway;
  readonly #opened: OpenHarness;

  private constructor(address: string, gateway: Gateway, opened: OpenHarness) {
    this.address = address;
    this.#gateway = gateway;
    this.#opened = opened;
  }

  /** Rejects a ledger that was changed since it was last seen. */
  static async open(home: string, { json }: { readonly json?: boolean | undefined }): Promise<HomeTransport> {
    const notice = noticeOnStderr(json);
    const access = await openAccess({ home });
    const opened = await openHomeHarness(home, notice).catch((error: unknown) => {
      throw isLocked(error) ? homeInUse(home, error) : ledgerError(error, home);
    });
    try {
      return new HomeTransport(home, await createGateway(access, opened.harness, notice), opened);
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  send({ method, path, body }: TransportRequest): Promise<TransportResponse> {
    return this.#gateway.inject({ method, path, body });
  }

  async close(): Promise<void> {
    try {
      await this.#gateway.close();
    } finally {
      await this.#opened.close();
    }
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
