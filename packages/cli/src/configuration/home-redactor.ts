import { join, resolve } from "node:path";
import { ProviderKeys } from "@reins/gateway";
import { errorMessage } from "@reins/kit";
import { Redactor } from "@reins/supervisor";
import { postgresOf } from "../home-database.ts";
import { loadCatalogue } from "../hosting/home-agents.ts";
import { readAgentsFile } from "./agents-file.ts";
import { CONFIGURATION_FILE, type Configuration, readIfExists, unusable } from "./configuration.ts";
import { headersIn } from "./exports.ts";

interface SecretSources {
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly file: Pick<Configuration, "redact" | "webhooks"> &
    Partial<Pick<Configuration, "audit" | "telemetry" | "graphs">>;
}

/**
 * Redacts secrets of known formats, the credentials of agents, keys of providers, the secrets of webhooks, exports and
 * telemetry, the password of the database, the token of Restate, and what `reins.yaml` names.
 */
export async function homeRedactor({ home, environment, file }: SecretSources): Promise<Redactor> {
  const { redact, webhooks, audit = [], telemetry, graphs } = file;
  const { credentialVariables } = loadCatalogue(home, await readAgentsFile(home));
  const values = [
    ...[...credentialVariables, ...redact.variables].flatMap((name) => environment[name] || []),
    ...(await new ProviderKeys(home).secrets()),
    ...webhooks.map(({ secret }) => secret),
    ...[(await postgresOf(home, environment))?.password ?? []].flat(),
    ...audit.flatMap(({ secret = [], headers }) => [secret, Object.values(headers)].flat()),
    ...Object.values({ ...telemetry?.headers, ...headersIn(environment.OTEL_EXPORTER_OTLP_HEADERS) }),
    ...[graphs?.restate.token ?? []].flat(),
    ...(await Promise.all(redact.files.map((path) => linesOf(home, path)))).flat(),
  ];
  try {
    return Redactor.create({ values, extra: redact.formats });
  } catch (error) {
    const why = errorMessage(error);
    throw unusable(join(home, CONFIGURATION_FILE), `redact.formats: ${why}`, error);
  }
}

async function linesOf(home: string, path: string): Promise<readonly string[]> {
  const text = await readIfExists(resolve(home, path));
  if (text === undefined) throw unusable(resolve(home, path), "it is to hold secrets, and does not exist");
  return text.split(/\r?\n/).filter((line) => line !== "");
}
