import type { Scope } from "./scope.ts";
import { knownValue, unknownValue, type Value } from "./value.ts";

/** Variables that hold a number, whatever happens. */
export const NUMBERS: ReadonlySet<string> = new Set([
  ..."?#$!",
  "RANDOM",
  "LINENO",
  "SECONDS",
  "UID",
  "EUID",
  "PPID",
  "BASHPID",
  "EPOCHSECONDS",
  "SHLVL",
  "COLUMNS",
  "LINES",
]);

/** Names that people give to variables with something secret in them: parts of a word, and words of their own. */
const SECRET_PART =
  /password|passwd|passphrase|passwort|secret|token|credential|api_?key|private_?key|access_?key|sshpass/i;
const SECRET_WORD =
  /(?:^|_)(?:keys?|pass|pwd|pw|auth|authorization|private|cookies?|session|pat|dsn|jwt|bearer|otp|totp|pin|cert|certificate|signature|pem|p12|pfx|seed|mnemonic|webhook)(?:_|\d*$)/i;
/** Addresses of services, which hold the password for them as often as not. */
const SECRET_ADDRESS =
  /(?:^|_)(?:database|db|sql|sqlalchemy|pg|postgres\w*|mysql\w*|mariadb|mssql|mongo\w*|redis\w*|valkey|memcached?|amqp|rabbitmq|cloudamqp|broker|celery|queue|kafka|nats|mqtt|elastic\w*|opensearch|clickhouse|cassandra|neo4j|influx\w*|couchdb|supabase|sentry|smtp|imap|mail\w*|ldap|ftp|sftp|s3|proxy|jdbc|odbc|connection|conn|cache)_?(?:\w+_)?(?:url|uri|dsn|string|str|conn|connection|address)(?:_|$)/i;

/** Whether the agent's environment may hold a secret under this name, and the script did not set it itself. */
export function isSecretVariable(name: string, scope: Scope): boolean {
  if (name === "PWD" || name === "OLDPWD" || scope.variables.has(name)) return false;
  return (
    SECRET_PART.test(name) || SECRET_WORD.test(name) || SECRET_ADDRESS.test(name) || /_proxy$/i.test(name)
  );
}

/** What a variable stands for. */
export function variableValue(name: string, scope: Scope): Value {
  if (/^[1-9]\d*$/.test(name)) return scope.positional?.[Number(name) - 1] ?? missingArgument(scope);
  const own = scope.variables.get(name);
  if (own) return own;
  if (name === "HOME") return knownValue(scope.home);
  if (name === "PWD") {
    const [folder, ...others] = scope.folders ?? [];
    return folder !== undefined && others.length === 0 ? knownValue(folder) : unknownValue(true);
  }
  const known = Object.hasOwn(scope.environment, name) ? scope.environment[name] : undefined;
  return known === undefined ? unknownValue(true) : knownValue(known);
}

function missingArgument(scope: Scope): Value {
  return scope.positional === undefined ? unknownValue(true) : knownValue("");
}
