import type { Config } from '../../config/config.ts';
import { s3Options } from '../../forward/senders/s3/s3-options.ts';
import type { ArchiveFiles } from './archive-files.ts';
import { openBucketFiles } from './bucket-files.ts';
import { DirectoryFiles } from './directory-files.ts';

/** The place of the files that the settings name. Connects with the first request. */
export function openArchiveFiles({ directory, s3, cacheMaxBytes }: Config['archive']): ArchiveFiles {
  return s3 === undefined
    ? new DirectoryFiles(directory)
    : openBucketFiles(s3Options.parse(s3), directory, cacheMaxBytes);
}
