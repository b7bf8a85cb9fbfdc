import { z } from "zod";
import { tableFile } from "../table-file.ts";
import { patternList } from "./pattern-list.ts";

const PlaceTable = z.strictObject({
  credentials: z.array(z.string()),
  notCredentials: z.array(z.string()),
  persistence: z.array(z.string()),
  temporary: z.array(z.string()),
  homes: z.array(z.string()),
  readable: z.array(z.string()),
  devices: z.array(z.string()),
});

const table = tableFile("places.json", PlaceTable);
const isListed = patternList(table.credentials);
const isExcepted = patternList(table.notCredentials);

/** Whether a file of this name is known to hold keys, tokens or passwords. */
export const isCredentials = (path: string): boolean => isListed(path) && !isExcepted(path);
/** Whether programs run what lies there by themselves, later. */
export const isPersistence = patternList(table.persistence);
/** Whether it lies in a user's home, by the name of the folder. */
export const isUserHome = patternList(table.homes);
/** Whether it is a part of the system that all users may read and that holds no secrets. */
export const isReadableByAll = patternList(table.readable);
/** Devices that only swallow or supply: reading or writing them is no effect. */
export const DEVICES: ReadonlySet<string> = new Set(table.devices);
/** Where machines keep folders for passing files. */
export const TEMPORARY: readonly string[] = table.temporary;
