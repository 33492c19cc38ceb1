/*
 * The characters that `fold` treats in a way of its own, written down because each version of Postgres and of Node knows
 * another Unicode: these are of Unicode 13, the oldest (Postgres 14). Stored keys and indexes are made by them, so they never
 * change: others are other lists, for another migration. Code points in hexadecimal digits, and ranges of them.
 */

/** Those that are not seen (Default_Ignorable_Code_Point). */
export const INVISIBLE = `
  ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8
  1bca0-1bca3 1d173-1d17a e0000-e0fff`;

/**
 * Those of later versions that a normalization there changes or orders, those that are none yet, and, which makes the list
 * shorter, such between them as every normalization leaves as they are. U+11A7 is lost in some versions of Postgres.
 */
export const UNKNOWN = `
  378-379 380-383 38b 38d 3a2 530 557-558 58b-590 5c8-5cf 5eb-5ee 5f5-5ff 70e 74b-7bf 7fb-7fc 82e-83f 85c-8d2 984-992
  9a9 9b1-9bb 9c5-9c6 9c9-9ca 9cf-9d6 9d8-9db 9de 9e4-9e5 9ff-a12 a29 a31 a34 a37 a3a-a3b a3d-a4a a4e-a58 a5d a5f-abb
  ac6-aca ace-b12 b29-b3b b45-b46 b49-b4a b4e-b54 b58-b5b b5e-b91 b96-bbd bc3-bc5 bc9 bce-bd6 bd8-c45 c49 c4e-c54
  c57-cbb cc5 cc9 cce-cd4 cd7-d11 d45 d49 d50-d53 d64-dc9 dcb-dce dd5-dd7 de0-e00 e3b-e3e e5c-ea6 ebe-ec7 ecf-edb
  ee0-eff f48 f6d-f70 f98 fbd fcd-fff 10c6 10c8-10cc 10ce-10cf 11a7 1249-135c 137d-139f 13f6-13f7 13fe-16ff 1715-171e
  1737-177f 17de-187f 18ab-192f 193c-19dd 1a1c-1a5f 1a7d-1a7e 1a8a-1aaf 1ac1-1aff 1b4d 1bf4-1bfb 1c38-1c4c 1c89-1c8f
  1cbb-1cbc 1cc8-1ccf 1cfb-1cff 1dfa 1f16-1f17 1f1e-1f1f 1f46-1f47 1f4e-1f4f 1f58 1f5a 1f5c 1f5e 1f7e-1f7f 1fb5 1fc5
  1fd4-1fd5 1fdc 1ff0-1ff1 1ff5 1fff 2072-2073 208f 209d-209f 20c2-20cf 20f1-20ff 218c-218f 242a-245f 2b74-2b75 2c2f
  2c5f 2cf4-2cf8 2d26 2d28-2d2c 2d2e-2d6e 2d71-2d7e 2d97-2ddf 2e5e-2e9a 2ef4-2eff 2fd6-2fef 3040 3097-3098 3100-3130
  318f 31e6-31ee 321f a48d-a63f a6f8-a6ff a7c0-a7c1 a7cb-a7f4 a82d-a87f a8c6-a8df a954-a97f a9ce-aa5b aac3-aada
  aaf7-ab2f ab6c-ab6f abee-abff d7a4-d7ff fa6e-fa6f fada-faff fb07-fb12 fb18-fb1c fb37 fb3d fb3f fb42 fb45 fe1a-fe1f
  fe53 fe67 fe6c-fe6f fe75 fefd-ff00 ffbf-ffc1 ffc8-ffc9 ffd0-ffd1 ffd8-ffd9 ffdd-ffdf ffe7 ffef-101cf 101fe-102df
  102fc-1034f 1037b-103ff 1049e-104af 104d4-104d7 104fc-10a0b 10a14-10a37 10a3b-10a3e 10a49-10abf 10ae7-10c7f
  10cb3-10cbf 10cf3-10cf9 10d28-10eaa 10eae-10f2f 10f5a-10fff 1104e-1107e 110c3-110ff 11135-1114f 11177-1117f
  111e0-11212 11242-112af 112eb-1133a 11345-11346 11349-1134a 1134e-11356 11358-11365 1136d-1136f 11375-113ff 1145c
  11462-1147f 114c8-1157f 115b6-115b7 115de-115ff 11645-1167f 116ba-1171c 1172c-117ff 1183c-1189f 118f3-11917 11936
  11939-1193a 11947-119d9 119e5-119ff 11a48-11a4f 11aa3-11c37 11c46-11d3e 11d48-11d92 11d99-16aef 16af6-16aff
  16b46-16e3f 16e9b-16fef 16ff7-1bc9b 1bca4-1d128 1d1eb-1d1ff 1d246-1d3ff 1d455 1d49d 1d4a0-1d4a1 1d4a3-1d4a4
  1d4a7-1d4a8 1d4ad 1d4ba 1d4bc 1d4c4 1d506 1d50b-1d50c 1d515 1d51d 1d53a 1d53f 1d545 1d547-1d549 1d551 1d6a6-1d6a7
  1d7cc-1d7cd 1da8c-1dfff 1e007 1e019-1e01a 1e022 1e025 1e02b-1e12f 1e13e-1e2bf 1e2fa-1e8c6 1e8d7-1e8ff 1e94c-1edff
  1ee04 1ee20 1ee23 1ee25-1ee26 1ee28 1ee33 1ee38 1ee3a 1ee3c-1ee41 1ee43-1ee46 1ee48 1ee4a 1ee4c 1ee50 1ee53
  1ee55-1ee56 1ee58 1ee5a 1ee5c 1ee5e 1ee60 1ee63 1ee65-1ee66 1ee6b 1ee73 1ee78 1ee7d 1ee7f 1ee8a 1ee9c-1eea0 1eea4
  1eeaa 1eebc-1f0ff 1f1ae-1f1e5 1f203-1f20f 1f23c-1f23f 1f249-1f24f 1f252-1fb93 1fbfb-1fffd 2a6e0-2f7ff 2fa1e-efffd`;

/** Those that a normalization orders, as `UNKNOWN` with others between them. */
export const MARKS = `
  300-36f 483-487 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed 711 730-74a
  7eb-7f3 7fd 816-819 81b-823 825-827 829-82d 859-8e1 8e3-8ff 93c 94d 951-954 9bc 9cd 9fe a3c a4d abc acd b3c b4d bcd
  c4d-cbc ccd d3b-d3c d4d dca e38-e3a e48-e4b eb8-eba ec8-ecb f18-f19 f35 f37 f39 f71-f75 f7a-f7d f80-f84 f86-f87 fc6
  1037 1039-103a 108d 135d-135f 1714 1734 17d2 17dd 18a9 1939-193b 1a17-1a18 1a60 1a75-1a7f 1ab0-1abd 1abf-1ac0 1b34
  1b44 1b6b-1b73 1baa-1bab 1be6 1bf2-1bf3 1c37 1cd0-1cd2 1cd4-1ce0 1ce2-1ce8 1ced 1cf4 1cf8-1cf9 1dc0-1dff 20d0-20dc
  20e1 20e5-20f0 2cef-2cf1 2d7f 2de0-2dff 302a-302f 3099-309a a66f a674-a67d a69e-a69f a6f0-a6f1 a806 a82c a8c4
  a8e0-a8f1 a92b-a92d a953 a9b3 a9c0 aab0 aab2-aab4 aab7-aab8 aabe-aabf aac1 aaf6 abed fb1e fe20-fe2f ff9e-ff9f
  101fd-102e0 10376-1037a 10a0d 10a0f 10a38-10a3f 10ae5-10ae6 10d24-10eac 10f46-10f50 11046 1107f 110b9-110ba
  11100-11102 11133-11134 11173 111c0 111ca 11235-11236 112e9-1133c 1134d 11366-11374 11442 11446 1145e 114c2-114c3
  115bf-115c0 1163f 116b6-116b7 1172b 11839-1183a 1193d-1193e 11943 119e0 11a34 11a47 11a99 11c3f 11d42 11d44-11d45
  11d97 16af0-16af4 16b30-16b36 16ff0-16ff1 1bc9e 1d165-1d169 1d16d-1d182 1d185-1d18b 1d1aa-1d1ad 1d242-1d244
  1e000-1e136 1e2ec-1e2ef 1e8d0-1e8d6 1e944-1e94a`;

/** Those with another one in lower case, and how far that is away; `/`: each second one of the range. Of NFKD alone. */
export const CASES = `
  41-5a+20 c6+20 d0+20 d8+20 de+20 110+1 126+1 131-c8 141+1 14a+1 152+1 166+1 181+d2 182/184+1 186+ce 187+1 189-18a+cd
  18b+1 18e+4f 18f+ca 190+cb 191+1 193+cd 194+cf 196+d3 197+d1 198+1 19c+d3 19d+d5 19f+d6 1a2/1a4+1 1a6+da 1a7+1
  1a9+da 1ac+1 1ae+da 1b1-1b2+d9 1b3/1b5+1 1b7+db 1b8+1 1bc+1 1e4+1 1f6-61 1f7-38 21c+1 220-82 222/224+1 23a+2a2b
  23b+1 23d-a3 23e+2a28 241+1 243-c3 244+45 245+47 246/24e+1 345+74 370/372+1 376+1 37f+74 391-3a1+20 3a3-3a9+20 3c2+1
  3cf+8 3d8/3ee+1 3f7+1 3fa+1 3fd-3ff-82 402/404+50 405-406+50 408-40b+50 40f+50 410-418+20 41a-42f+20 460/474+1
  478/480+1 48a/4be+1 4c0+f 4c3/4cd+1 4d4+1 4d8+1 4e0+1 4e8+1 4f6+1 4fa/52e+1 531-556+30 10a0-10c5+1c60 10c7+1c60
  10cd+1c60 13a0-13ef+97d0 13f0-13f5+8 1c80-184e 1c81-184d 1c82-1844 1c83-1c84-1842 1c85-1843 1c86-183c 1c87-1824
  1c88+89c3 1c90-1cba-bc0 1cbd-1cbf-bc0 1e9e-1dbf 1efa/1efe+1 2132+1c 2183+1 2c00-2c2e+30 2c60+1 2c62-29f7 2c63-ee6
  2c64-29e7 2c67/2c6b+1 2c6d-2a1c 2c6e-29fd 2c6f-2a1f 2c70-2a1e 2c72+1 2c75+1 2c7e-2c7f-2a3f 2c80/2ce2+1 2ceb/2ced+1
  2cf2+1 a640/a66c+1 a680/a69a+1 a722/a72e+1 a732/a76e+1 a779/a77b+1 a77d-8a04 a77e/a786+1 a78b+1 a78d-a528
  a790/a792+1 a796/a7a8+1 a7aa-a544 a7ab-a54f a7ac-a54b a7ad-a541 a7ae-a544 a7b0-a512 a7b1-a52a a7b2-a515 a7b3+3a0
  a7b4/a7be+1 a7c2+1 a7c4-30 a7c5-a543 a7c6-8a38 a7c7/a7c9+1 a7f5+1 10400-10427+28 104b0-104d3+28 10c80-10cb2+40
  118a0-118bf+20 16e40-16e5f+20 1e900-1e921+22`;
