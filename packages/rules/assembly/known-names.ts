/** The numbers of the names that are read here. `src/walk/member-names.ts` numbers them, and a test compares. */

export const nameData: i32 = 1
export const nameId: i32 = 3
export const nameEntities: i32 = 12
export const nameAnnotations: i32 = 17
export const nameUsername: i32 = 19
export const nameUrl: i32 = 22
export const nameExpandedUrl: i32 = 23
export const nameDisplayUrl: i32 = 24
export const nameUnwoundUrl: i32 = 25
export const nameNormalizedText: i32 = 28
export const nameContextAnnotations: i32 = 46
export const nameDomain: i32 = 47
export const nameEntity: i32 = 48
export const nameName: i32 = 49
export const nameUsers: i32 = 51
