import { hash } from 'node:crypto';
import type { VNode } from 'preact';
import { html, type Content } from '../html/html.ts';
import { bareDocument } from '../html/layout.ts';

/** Inline, because nothing else is served before login. */
const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: light-dark(#f4f5f7, #14171a); color: light-dark(#1b1f24, #e6e9ec); }
main { box-sizing: border-box; width: min(22rem, 100vw - 2rem); padding: 1.5rem; border: 1px solid light-dark(#d5d9de, #343a41); border-radius: .5rem; background: light-dark(#fff, #1d2126); }
h1 { margin: 0 0 1rem; font-size: 1.25rem; }
label { display: block; margin: .75rem 0 .25rem; }
input { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit; border: 1px solid light-dark(#7d8590, #7d8590); border-radius: .25rem; background: light-dark(#fff, #14171a); color: inherit; }
small { color: light-dark(#59626d, #a3acb5); }
button, .button { box-sizing: border-box; display: block; width: 100%; margin-top: 1.25rem; padding: .6rem; font: inherit; font-weight: 600; text-align: center; text-decoration: none; overflow-wrap: anywhere; border: 0; border-radius: .25rem; background: light-dark(#0b57c2, #2467c4); color: #fff; cursor: pointer; }
details { margin-top: 1.25rem; padding-top: .75rem; border-top: 1px solid light-dark(#d5d9de, #343a41); }
summary { cursor: pointer; }
:focus-visible { outline: 3px solid light-dark(#0b57c2, #7fb2ff); outline-offset: 2px; }
[role=alert] { margin: 0 0 .75rem; padding: .5rem .75rem; border-left: 4px solid #c62828; background: light-dark(#fdecea, #3a1d1d); }
`;

/** The hash that allows this style (CSP Level 3, section 2.3.1). */
export const LOG_IN_STYLE_HASH = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

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
      ${problem !== undefined && html`<p role="alert">${problem}</p>`}
      ${ways.provider !== undefined && providerLink(next, ways.provider)}
      ${
        ways.account &&
        (ways.provider === undefined
          ? accountForm(next, name)
          : html`<details open=${name !== undefined}>
              <summary>Log in with a password</summary>
              ${accountForm(next, name)}
            </details>`)
      }
      ${
        ways.adminToken &&
        (ways.provider === undefined && !ways.account
          ? tokenForm(next)
          : html`<details open=${isAboutToken}>
              <summary>Log in with the admin token</summary>
              ${tokenForm(next)}
            </details>`)
      }
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

/** A page before login. */
export const documentOf = (head: Content, content: Content): VNode =>
  bareDocument(
    'Log in',
    'xiq-sink',
    content,
    html`${head}<style dangerouslySetInnerHTML=${{ __html: STYLE }}></style>`,
  );

/** A link and no form: browsers apply the policy for targets of forms to the redirect to the provider, too. */
const providerLink = (next: string, host: string): Content => html`
  <a class="button" href=${`/login/openid?next=${encodeURIComponent(next)}`}>Log in with ${host}</a>
`;

/** A labelled field of a page before login. */
export const entryOf = (name: string, label: string, attributes: object): Content => html`
  <label for=${name}>${label}</label>
  <input id=${name} name=${name} ...${attributes} />
`;

/** The attributes of a field for one-time codes. */
export const CODE = { inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: 10 };

const accountForm = (next: string, name: string | undefined): Content => html`
  <form method="post" action="/login">
    <input type="hidden" name="next" value=${next} />
    ${entryOf('name', 'Name', {
      value: name,
      autocomplete: 'username',
      autocapitalize: 'none',
      required: true,
      maxlength: 100,
      autofocus: name === undefined,
    })}
    ${entryOf('password', 'Password', {
      type: 'password',
      autocomplete: 'current-password',
      required: true,
      autofocus: name !== undefined,
    })}
    ${entryOf('code', 'One-time code', CODE)}
    <small>Only if your account uses an authenticator app.</small>
    <button>Log in</button>
  </form>
`;

const tokenForm = (next: string): Content => html`
  <form method="post" action="/login">
    <input type="hidden" name="next" value=${next} />
    ${entryOf('token', 'Admin token', { type: 'password', autocomplete: 'off', required: true })}
    <small>The value of the setting ADMIN_TOKEN. The operator log records "admin token".</small>
    <button>Log in</button>
  </form>
`;
