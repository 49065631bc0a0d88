import { type Sha256, sha256Hex, sha256OfPair } from "../base/sha256.ts";
import { type Declaration, wholeSettings } from "./declared-settings.ts";
import type { ActorAlias, BlobId, BlockName, ConfigName, SettingsName } from "./ids.ts";

/**
 * The names under which a conversation and its forks record their blocks (rule: Equal blocks), their settings and their layers' configuration.
 * Equal ones have one name. In a conversation in lines a name is keyed, because the digest of a short text gives the text away: it is found by
 * trying all that the text may be.
 */
export type BlockNames = {
  /** The name of the blocks with this digest. */
  nameOf(digest: string): BlockName;
  /** The name of the settings whose text has this digest. */
  nameOfSettings(digest: string): SettingsName;
  /** The name of a layer's configuration whose text has this digest. */
  nameOfConfig(digest: string): ConfigName;
  /** Names the stream of the long text with this digest. */
  idOfBlob(sha256: string): BlobId;
  /** Stands for the name of a person who acts in the conversation. */
  aliasOf(name: string): ActorAlias;
  /** The key is lost, so a recorded name may be another than these functions give. */
  readonly isLost?: true;
  /** Called with each recorded block that is read, if names have to be known from those. */
  note?(block: { readonly digest: string; readonly recordedAs: BlockName; readonly isErased: boolean }): void;
  /** The same for settings, in the order of the log. */
  noteSettings?(declared: Declaration): void;
};

/** In conversations written as `json`, all names are digests. */
export const plainNames: BlockNames = namesThat((digest) => digest);

/** @param key - 64 hexadecimal digits, random. */
export const keyedNames = (key: string): BlockNames => namesThat((digest) => sha256OfPair(key, digest));

/**
 * The names in a conversation whose key is lost. Blocks and settings that equal some that were read have their recorded name; all others have a
 * name by a fresh key, so layers that write an old block anew may cost a whole request.
 */
export function survivingNames(freshKey: string): BlockNames {
  const fresh = keyedNames(freshKey);
  const nameByDigest = new Map<Sha256, BlockName>();
  // Hashed only if a name is asked for, because few readers ask.
  let unhashed: { readonly digest: Sha256; readonly recordedAs: BlockName }[] = [];
  // Events are read again and again, as other objects: each name is noted once, and once without its content.
  const [noted, notedErased] = [new Set<BlockName>(), new Set<BlockName>()];
  let declared: Declaration[] = [];
  const settingsNameByDigest = new Map<Sha256, SettingsName>();
  const settingsByName = new Map<string, Declaration["settings"]>();
  return {
    ...fresh,
    isLost: true,
    note(block) {
      const known = block.isErased ? notedErased : noted;
      if (known.has(block.recordedAs)) return;
      known.add(block.recordedAs);
      unhashed.push(block);
    },
    noteSettings(data) {
      declared.push(data);
    },
    nameOf(digest) {
      const blocks = unhashed;
      unhashed = [];
      for (const block of blocks) {
        if (!nameByDigest.has(block.digest)) nameByDigest.set(block.digest, block.recordedAs);
      }
      return nameByDigest.get(digest) ?? fresh.nameOf(digest);
    },
    nameOfSettings(digest) {
      const noted = declared;
      declared = [];
      for (const data of noted) {
        const settings = wholeSettings(data, (name) => settingsByName.get(name));
        if (settings === undefined) continue;
        if (data.base === undefined) settingsByName.set(data.digest, settings);
        const found = sha256Hex(JSON.stringify(settings));
        if (!settingsNameByDigest.has(found)) settingsNameByDigest.set(found, data.digest);
      }
      return settingsNameByDigest.get(digest) ?? fresh.nameOfSettings(digest);
    },
  };
}

/**
 * The name of a block that folds make and that no event holds, so it may not depend on a key, which can be lost. It gives nothing away: such
 * blocks have no content of a conversation.
 */
export const nameWithoutKey = (names: BlockNames, digest: Sha256): BlockName =>
  (names === plainNames ? plainNames : keyedNames(withoutKey)).nameOf(digest);

/** sha256 of `turnlog/block-without-key/v1`. A literal, so that loading the module hashes nothing. */
const withoutKey = "2573ee69c7930b1a1a0e22401fa2649eecc064b04409c200337a2770986bf5f0";

/** The only place where a digest becomes a name. */
function namesThat(name: (digest: Sha256) => Sha256): BlockNames {
  // The casts say that these are names: plain digests in `json`, and keyed elsewhere.
  return {
    nameOf: (digest) => name(digest) as BlockName,
    nameOfSettings: (digest) => name(digest) as SettingsName,
    nameOfConfig: (digest) => name(digest) as ConfigName,
    idOfBlob: (digest) => name(digest) as BlobId,
    aliasOf: (person) => name(sha256Hex(`turnlog/actor/v1\n${person}`)) as ActorAlias,
  };
}
