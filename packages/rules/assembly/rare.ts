export declare function addToken(text: i32, begin: i32, at: i32, end: i32, isGlued: i32): i32
export declare function addKey(field: i32, begin: i32, end: i32): void
export declare function addDestination(text: i32, hash: i32): i32
export declare function schemeEnd(begin: i32, end: i32): i32
