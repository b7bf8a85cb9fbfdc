import { JournalEngine } from "@reins/graph";
import { engineConformance } from "@reins/graph/engine-conformance";
import { RecordedJournal } from "../src/graph/recorded-journal.ts";
import { openTestHome } from "./fixtures/home.ts";

engineConformance("The engine on the recorded, sealed journal", async () => {
  const { harness } = await openTestHome();
  return {
    open: async (orchestrate) =>
      new JournalEngine({
        orchestrate,
        journal: new RecordedJournal({
          ...{ harness, isDurable: () => true, stopping: new AbortController().signal },
          onWait: () => undefined,
        }),
      }),
    kill: (engine) => engine.close(),
  };
});
