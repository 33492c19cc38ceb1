/** A phrase that no text for people may contain, and what to write instead. */
interface BannedPhrase {
  readonly phrase: RegExp;
  readonly instead: string;
}

/** The left column of docs/style.md, and other phrases that were found and rewritten. Matched whatever their case. */
const BANNED_PHRASES: readonly BannedPhrase[] = (
  [
    [/tell how to use it/, 'show help for a command'],
    [/follow them, or take them out/, 'search, follow and export'],
    [/the operator log keeps that/, 'recorded in the operator log'],
    [/keep this program's webhook subscriptions/, "manage this installation's webhook subscriptions"],
    [/what the settings say/, 'the configured ...'],
    [/doing it again changes nothing/, 'safe to repeat'],
    [/what lies in quarantine/, 'quarantined items'],
    [/in hexadecimal digits\b/, 'as hex'],
    [/read and store again what is/, 'process open items again'],
    [/empty the bytes|bytes are emptied/, 'delete the content'],
    [/what it was stays written down/, 'the record of each item stays'],
    [/how it goes, and what to do about it/, 'manage destinations'],
    [/behind the batch in hand/, 'after the current batch'],
    [/go on where it was/, 'resume from the last position'],
    [/(?:destination|settings) had refused us|refuses us/, 'rejected the connection'],
    [/forward again what was received/, 'resend events received since a given time'],
    [/remove what is remembered/, 'delete the state of'],
    [/what is remembered of/, 'the state of'],
    [/cannot be asked so/, 'Invalid query'],
    [/>\s*Ask(?: it| again)?\s*</, 'Query'],
    [/\bask it:/, 'Query events:'],
    [/\blook at it:/, 'Open the console:'],
    [/>\s*Look\s*</, 'Search'],
    [/\bhalf within\b/, 'p50 2.8 ms'],
    [/99 ?% within/, 'p99 22 ms'],
    [/\d+ rest, \d+ given up/, '0 delayed, 0 failed'],
    [/\bgiven up\b/, 'failed, or stopped'],
    [/\bnone waits\b/, 'queue empty'],
    [/\bto quarantine \/ stored before\b/, 'quarantined / duplicates'],
    [/\d stored before\b|>\s*stored before\s*</, 'duplicates'],
    [/\boutside every month\b/, 'default partition'],
    [/to know what is usual/, 'not enough history yet'],
    [/\bIt works, and\b/, 'Running, with 1 warning'],
    [/needs? to be (?:looked at|mended|seen to)/, 'warning, or problem'],
    [/refused no event that was not/, 'No rejected events'],
    [/\bcame to\b/, 'result'],
    [/what came of/, 'result'],
    [/what came back/, 'result'],
    [/takes (?:secrets )?of at least/, 'must be at least'],
    [/has(?: not)? taken (?:a batch|the test)/, 'accepted'],
    [/until the queue works again/, 'until the queue is available again'],
    [/deliveries are taken\b/, 'deliveries are accepted'],
    [/goes to quarantine with its bytes/, 'are quarantined with their original bytes'],
    [/have the same by the API/, 'available through the API'],
    [/\bthe oldest (?:of|for)\b/, 'oldest: ...'],
    [
      /\b(?:Its|The) 1 events\b|(?<![\d,.])1 (?:events|deliveries|duplicates|subscriptions|warnings|files)\b/,
      '1 event',
    ],
    [/nothing needs you|needs you\b/, 'No action needed'],
    [/could not be asked/, 'did not answer'],
    [/\bsent again\b/, 'resent'],
    [/\bload the (?:page|list) anew\b/, 'Reload'],
    [/\bnobody (?:has|waits|waited|watches|looks|listened|read)\b/, 'name the subject, or use the passive'],
    [/\bno sign of life\b/, 'not reporting'],
    [/\bstands? in the (?:operator )?log\b/, 'is recorded in the operator log'],
    [/\bfor good\b/, 'permanently'],
    [/\bone by one as\b/, 'one at a time'],
    [/\bso many\b/, 'the limit'],
    [/\bas they came\b/, 'original'],
    [/\bas it came\b/, 'original'],
    [/\bwatch already\b/, 'the limit is reached'],
    [/\bsomebody\b/, 'a user, or an operator'],
    [/\bwho asks\b/, 'the client'],
    [/\bwhat (?:there )?is to be done\b/, 'the plan'],
    [/\bwhatever (?:its|the) case\b/, 'ignoring case'],
    [/\bmay stand several times\b/, 'can be repeated'],
    [/\bfrom this time on\b/, 'start of the range'],
    [/\bhow far (?:it|an export|the export) is\b/, 'progress'],
    [/\bhow the service is\b/, 'the state of the service'],
    [/\bhow unusual it is that nothing\b/, 'how unusual the current silence is'],
    [/\bis (?:with|where) the cloud\b/, 'in the cloud'],
    [/\bthe cloud holds\b/, 'in the cloud'],
    [/\bwritten down here\b/, 'local records'],
    [/\b(?:was|were)(?: not|n't| never)? tried\b/, 'tested'],
    [/\b(?:made|begins?|counts?) anew\b/, 'rebuilt, or restart'],
    [/\b(?:replicas|backups|events|those|quarters|rows) of before\b/i, 'from before'],
    [/\bwebhooks? (?:brought|brings?)\b/, 'delivered'],
  ] as const
).map(([{ source }, instead]) => ({ phrase: new RegExp(source, 'i'), instead }));

/** A banned phrase in a text. */
interface Found {
  readonly phrase: string;
  readonly instead: string;
  /** The phrase with the text around it. */
  readonly context: string;
}

const AROUND = 60;

/** The banned phrases in a text; each once. Line breaks count as spaces. */
export function findBanned(text: string): Found[] {
  const line = text.replaceAll(/\s+/g, ' ');
  return BANNED_PHRASES.flatMap(({ phrase, instead }) => {
    const match = phrase.exec(line);
    if (match === null) return [];
    const { index, 0: found } = match;
    const context = line.slice(Math.max(0, index - AROUND), index + found.length + AROUND).trim();
    return [{ phrase: found, instead, context }];
  });
}
