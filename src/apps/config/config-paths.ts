import { isAbsolute, join, relative, resolve } from "node:path";
import { sqliteFile } from "../../stores/sqlite/address.ts";

type Place = { readonly folder: string };

/** An address with its path made absolute: the configuration's paths are relative to its folder. */
export function addressIn({ folder }: Place, address: string): string {
  const path = sqliteFile(address)?.path;
  if (path === undefined || isAbsolute(path)) return address;
  return `sqlite:${join(folder, path)}${address.slice("sqlite:".length + path.length)}`;
}

export const pathIn = ({ folder }: Place, path: string): string => resolve(folder, path);

/** The file as the user would name it. */
export function shownFile(path: string, from: string): string {
  const near = relative(from, path);
  return near === "" || near.startsWith("..") || isAbsolute(near) ? path : near;
}
