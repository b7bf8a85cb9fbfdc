import { describeStore } from "../src/testing/contract.ts";
import { sqlitePlace } from "../src/testing/sqlite-place.ts";

describeStore("SQLite", { place: sqlitePlace });
