import type { z } from 'zod';
import { OWN_TYPES } from '../events/domain.ts';
import type { alertRuleSchema } from './alert-rule.ts';

/**
 * The rules that can be switched on by name. Only four codes of audit events are published (specification, "Audit-log
 * delivery"), so most rules about administrators look at the description.
 */
export const BUILT_IN_RULES: readonly z.input<typeof alertRuleSchema>[] = [
  {
    name: 'administrator-added',
    title: 'Administrator or role added',
    severity: 'high',
    filter: {
      families: ['audit'],
      where: {
        description: [
          '*admin*was created*',
          '*admin*was added*',
          '*created*admin*',
          '*added*admin*',
          '*invited*admin*',
          '*role*was created*',
          '*created*role*',
          '*assigned*role*',
          '*role*was assigned*',
          '*granted*role*',
        ],
      },
    },
  },
  {
    name: 'api-token-made',
    title: 'API token created',
    severity: 'high',
    filter: {
      families: ['audit'],
      where: {
        description: [
          '*api token*created*',
          '*api token*generated*',
          '*created*api token*',
          '*generated*api token*',
          '*access token*created*',
          '*access token*generated*',
          '*created*access token*',
          '*generated*access token*',
        ],
      },
    },
  },
  {
    name: 'subscription-changed',
    title: 'Webhook subscription changed or disabled',
    severity: 'high',
    filter: [
      { families: ['audit'], where: { description: ['*webhook*subscription*', '*subscription*webhook*'] } },
      { families: ['other'], where: { sent_type: OWN_TYPES.subscription } },
    ],
  },
  {
    name: 'logins-failed',
    title: 'Many failed logins',
    severity: 'medium',
    filter: [
      {
        families: ['audit'],
        where: { description: ['*login failed*', '*failed to log in*', '*log-in failed*'] },
      },
      { kinds: ['authentication'], outcome: 'failure' },
    ],
    count: 15,
    within: '10m',
    group_by: ['user_name'],
  },
  {
    name: 'login-at-unusual-hours',
    title: 'Administrator logged in at an unusual hour',
    severity: 'medium',
    filter: { kinds: ['login'] },
    group_by: ['user_name'],
    hours: { from: '06:00', to: '20:00' },
    first_seen: { of: ['time_of_day'], within: '90d', learning: '14d' },
  },
  {
    name: 'many-keys-made',
    title: 'Many private keys created',
    severity: 'high',
    filter: { kinds: ['ppskCreated'] },
    count: 30,
    within: '1h',
    group_by: ['user_name'],
  },
  {
    name: 'identity-on-many-devices',
    title: 'One identity on many devices',
    severity: 'medium',
    filter: { kinds: ['authentication'], outcome: 'success' },
    count: 6,
    within: '12h',
    group_by: ['user_name'],
    distinct: 'client_mac',
  },
  {
    name: 'client-at-distant-places',
    title: 'One client in two distant places',
    severity: 'high',
    filter: { families: ['location'] },
    group_by: ['client_mac'],
    apart: 50_000,
    within: '30m',
  },
  {
    name: 'messages-burst',
    title: 'Many emails or text messages',
    severity: 'medium',
    filter: { kinds: ['email', 'sms'] },
    count: 100,
    within: '10m',
    group_by: ['message_type'],
  },
  {
    name: 'access-point-silent',
    title: 'Access point silent since its last event',
    severity: 'medium',
    filter: { families: ['location'] },
    group_by: ['ap_mac'],
    silent_for: '1h',
  },
  {
    name: 'personal-data-deleted',
    title: 'Personal data deleted',
    severity: 'low',
    filter: { kinds: ['gdprDeletion'] },
  },
];
