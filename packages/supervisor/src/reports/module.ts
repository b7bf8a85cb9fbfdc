import type { TablesModule } from "@reins/store";
import type { Report } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE agent_reports (
       tenant TEXT NOT NULL,
       user TEXT NOT NULL,
       agent TEXT NOT NULL,
       session TEXT NOT NULL,
       kind TEXT NOT NULL,
       at TEXT NOT NULL,
       count INTEGER NOT NULL,
       payload TEXT NOT NULL,
       PRIMARY KEY (tenant, user, agent, session, kind)
     ) STRICT;
     CREATE INDEX agent_reports_by_time ON agent_reports (at);
     CREATE INDEX agent_reports_of_tenant ON agent_reports (tenant, at)`,
  ],
  open(database) {
    const put = database.prepare(
      `INSERT INTO agent_reports (tenant, user, agent, session, kind, at, count, payload)
       VALUES (@tenant, @user, @agent, @session, @kind, @at, 1, @payload)
       ON CONFLICT (tenant, user, agent, session, kind)
       DO UPDATE SET at = excluded.at, count = agent_reports.count + 1, payload = excluded.payload`,
    );
    const drop = database.prepare(
      `DELETE FROM agent_reports WHERE tenant = @tenant AND (user, agent, session, kind) IN
         (SELECT user, agent, session, kind FROM agent_reports WHERE tenant = @tenant
          ORDER BY at DESC LIMIT -1 OFFSET @most)`,
    );
    const prune = database.prepare("DELETE FROM agent_reports WHERE at < ?");
    const list = database.prepare("SELECT * FROM agent_reports ORDER BY at DESC LIMIT ?");
    return {
      changes: {
        put({ report, most }: { report: Omit<Report, "count">; most: number }): void {
          put.run(report);
          drop.run({ tenant: report.tenant, most });
        },
        prune: ({ before }: { before: string }) => void prune.run(before),
      },
      queries: { list: ({ limit }: { limit: number }) => list.all(limit) },
    };
  },
};

export default module;
