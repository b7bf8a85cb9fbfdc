import { describeStore } from "../test/contract/contract.ts";
import { sqlitePlace } from "../test/temporary-folder.ts";

describeStore("SQLite", { place: sqlitePlace, copiesToFiles: true });
