import { afterEach, describe, expect, it } from 'vitest';
import { createEventHub } from '../../../src/console/live/event-hub.ts';
import { liveArea } from '../../../src/console/live/live-area.ts';
import { storeAudits } from '../../support/actions.ts';
import { hasChromium } from '../../support/browser.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { eventsForTests } from '../../support/events-area.ts';

describe.skipIf(!hasChromium())('live events in a browser (needs Chromium)', () => {
  const admin = useConsole(
    (db) => [eventsForTests(db), liveArea({ db, hub: createEventHub(db, { intervalMs: 50 }) })],
    { logs: true },
  );
  const browser = useBrowser(() => admin.url);
  afterEach(async () => {
    if (browser.problems.length > 0) throw new Error(browser.problems.join('\n'));
    await browser.page.goto('about:blank');
  });

  const audit = (userName: string, ...descriptions: string[]) =>
    storeAudits(admin.db, ...descriptions.map((description) => ({ description, userName, code: 1 })));

  const state = () => browser.page.locator('[data-state]');
  const details = () => browser.page.locator('tbody .details').allTextContents();
  const button = (name: string) => browser.page.getByRole('button', { name, exact: true });

  /** Follows the events of a user, each test those of another one. */
  async function follow(user: string): Promise<void> {
    await browser.page.goto(`${admin.url}/events?live=on&q=user:${user}`);
    await state().filter({ hasText: 'Live since' }).waitFor();
  }

  it('adds new events that match on top of the list, and reads the list again when turned off', async () => {
    await audit('ann', 'before');
    await browser.page.goto(`${admin.url}/events?q=user:ann`);
    const live = browser.page.getByRole('switch', { name: 'Live' });
    await live.press('Space');
    await state().filter({ hasText: 'Live since' }).waitFor();
    expect(await live.getAttribute('aria-checked')).toBe('true');
    await audit('ann', 'the first');
    await browser.page.getByText('the first').waitFor({ timeout: 3_000 });
    await audit('eve', 'of somebody else');
    await audit('ann', 'the second');
    await browser.page.getByText('the second').waitFor({ timeout: 3_000 });
    expect(await details()).toEqual(['the second', 'the first', 'before']);
    expect(await state().textContent()).toContain(', 2 events.');
    expect(await problemsOf(browser.page, 'events-live')).toEqual([]);
    await live.click();
    await browser.page.waitForURL(`${admin.url}/events?q=user%3Aann&since=24h`);
    expect(await details()).toEqual(['the second', 'the first', 'before']);
    expect(await state().count()).toBe(0);
  });

  it('stands still while an event is open, and adds what came when it goes on', async () => {
    await follow('bob');
    await audit('bob', 'before');
    await browser.page.getByText('before').click();
    await browser.page.locator('.drawer .event').waitFor();
    expect(await state().textContent()).toMatch(/^Paused since/);
    for (const one of ['one', 'two', 'three']) await audit('bob', one);
    await button('Resume (3 new)').waitFor();
    expect(await details()).toEqual(['before']);
    await button('Resume (3 new)').click();
    expect(await details()).toEqual(['three', 'two', 'one', 'before']);
  });

  it('stands still once someone scrolls, and counts what the list has no room for', async () => {
    await browser.page.setViewportSize({ width: 1280, height: 400 });
    await follow('cleo');
    await audit('cleo', ...Array.from({ length: 40 }, (_, n) => `before ${n}`));
    await expect.poll(async () => (await details()).length).toBe(40);
    await browser.page.mouse.wheel(0, 300);
    await state().filter({ hasText: 'Paused since' }).waitFor();
    for (let part = 0; part < 6; part += 1) {
      await audit('cleo', ...Array.from({ length: 100 }, (_, n) => `part ${part}, ${n}`));
      await button(`Resume (${part + 1}00 new)`).waitFor();
    }
    expect(await state().textContent()).toContain('640 events, 100 of them not in the list.');
    await button('Resume (600 new)').click();
    expect(await details()).toHaveLength(500);
    expect((await details())[0]).toBe('part 5, 99');
  });

  it('draws at most four times a second', async () => {
    await follow('dan');
    const times: number[] = [];
    const drawing = browser.page
      .locator('tbody')
      .evaluate(
        (list) =>
          new Promise<number[]>((resolve) => {
            const noted: number[] = [];
            const note = () => noted.push(performance.now()) === 4 && resolve(noted);
            new MutationObserver(note).observe(list, { childList: true });
          }),
      )
      .then((noted) => times.push(...noted));
    while (times.length === 0) await audit('dan', 'one more');
    await drawing;
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(240);
  });
});
