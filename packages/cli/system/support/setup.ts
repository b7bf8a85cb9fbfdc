// Runs before each file of system tests. The files of a worker share their modules, so that hooks belong here.
import { afterAll, afterEach } from "vitest";
import { beginFile, endFile, killRunning } from "./reins.ts";

beginFile();
afterEach(killRunning);
afterAll(endFile);
