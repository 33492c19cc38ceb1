import type { VNode } from 'preact';
import { enteredOf, NOTHING_ENTERED } from '../api/parameters.ts';
import { fieldOf } from '../html/form.ts';
import { html, type Content } from '../html/html.ts';
import { bareDocument } from '../html/layout.ts';

export interface LogInWays {
  readonly account: boolean;
  readonly adminToken: boolean;
  readonly provider: string | undefined;
}

interface LogInNotice {
  readonly problem?: string;
  /** The entered name, if it may be right. */
  readonly name?: string;
  readonly isAboutToken?: boolean;
}

/** The login page; `next` is the address in the console to continue with. */
export function logInPage(
  next: string,
  ways: LogInWays,
  { problem, name, isAboutToken = false }: LogInNotice = {},
): VNode {
  return documentOf(
    null,
    html`
      ${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
      ${ways.provider !== undefined && providerLink(next, ways.provider)}
      ${ways.account && wayOf(ways.provider === undefined, name !== undefined, 'a password', formOf(next, accountFields(name)))}
      ${ways.adminToken && wayOf(ways.provider === undefined && !ways.account, isAboutToken, 'the admin token', formOf(next, TOKEN_FIELDS))}
    `,
  );
}

/** A page that redirects to `next` at once; the browser then sends its cookie, which it kept from another site. */
export function continuePage(next: string): VNode {
  return documentOf(
    html`<meta http-equiv="refresh" content=${`0; url=${next}`} />`,
    html`<p><a href=${next}>Continue</a></p>`,
  );
}

/** Always an address in the console: `//host` and `/\host` would lead to another site. */
export function pathWithin(next: string): string {
  const base = 'http://console.invalid';
  if (!URL.canParse(next, base)) return '/';
  const { origin, pathname, search } = new URL(next, base);
  const isWithin = origin === base && !pathname.startsWith('//') && !/^\/login(?:\/|$)/.test(pathname);
  return isWithin ? `${pathname}${search}` : '/';
}

/** A page before login. */
export const documentOf = (head: Content, content: Content): VNode =>
  bareDocument('Log in', 'xiq-sink', content, head);

/** A link and no form: browsers apply the policy for targets of forms to the redirect to the provider, too. */
const providerLink = (next: string, host: string): Content => html`
  <a class="button" href=${`/login/openid?next=${encodeURIComponent(next)}`}>Log in with ${host}</a>
`;

/** A form to log in, folded unless no other way comes before it. */
const wayOf = (isFirst: boolean, isOpen: boolean, what: string, form: Content): Content =>
  isFirst
    ? form
    : html`<details open=${isOpen}>
        <summary>Log in with ${what}</summary>
        ${form}
      </details>`;

const formOf = (next: string, fields: Content): Content => html`
  <form class="fields" method="post" action="/login">
    <input type="hidden" name="next" value=${next} />
    ${fields}
    <button>Log in</button>
  </form>
`;

/** The attributes of a field for one-time codes. */
export const CODE = { inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: '10' };

const accountFields = (name: string | undefined): Content => html`
  ${fieldOf(enteredOf({ name }), 'name', 'Name', undefined, {
    autocomplete: 'username',
    autocapitalize: 'none',
    maxlength: '100',
    required: '',
    ...(name === undefined && { autofocus: '' }),
  })}
  ${fieldOf(NOTHING_ENTERED, 'password', 'Password', undefined, {
    type: 'password',
    autocomplete: 'current-password',
    required: '',
    ...(name !== undefined && { autofocus: '' }),
  })}
  ${fieldOf(NOTHING_ENTERED, 'code', 'One-time code', undefined, CODE)}
  <p class="dim">Only if your account uses an authenticator app.</p>
`;

const TOKEN_FIELDS = html`
  ${fieldOf(NOTHING_ENTERED, 'token', 'Admin token', undefined, { type: 'password', required: '' })}
  <p class="dim">The value of the setting ADMIN_TOKEN. The operator log records "admin token".</p>
`;
