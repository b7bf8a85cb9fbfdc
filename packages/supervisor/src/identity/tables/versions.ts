import type { Database, Statement } from "@reins/store";
import type { Delta } from "./delta.ts";
import { childIn, tokenIn, userIn } from "./records.ts";
import { Row } from "./row.ts";

/** Counts the changes and finds what they touched. */
export class Versions {
  readonly #current: Statement;
  readonly #raise: Statement;
  readonly #users: Statement;
  readonly #tokens: Statement;
  readonly #children: Statement;

  constructor(database: Database) {
    this.#current = database.prepare("SELECT version FROM identity_meta");
    this.#raise = database.prepare("UPDATE identity_meta SET version = version + 1 RETURNING version");
    // Whoever begins with nothing has no need of what is gone already.
    const newer = (table: string, gone: string): Statement =>
      database.prepare(`SELECT * FROM ${table} WHERE changed > @after AND (@after > 0 OR ${gone} IS NULL)`);
    this.#users = newer("identity_users", "removed");
    this.#tokens = newer("identity_tokens", "revoked");
    this.#children = newer("identity_children", "revoked");
  }

  /** Everything that changed after a version. */
  since(after: number): Delta {
    return {
      after,
      version: new Row(this.#current.get()).number("version"),
      users: this.#users.all({ after }).map(userIn),
      tokens: this.#tokens.all({ after }).map(tokenIn),
      children: this.#children.all({ after }).map(childIn),
    };
  }

  /** Makes a change under the next version, and tells what it touched. */
  step(run: (version: number) => void): Delta {
    const version = new Row(this.#raise.get()).number("version");
    run(version);
    return this.since(version - 1);
  }
}
