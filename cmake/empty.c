/* A translation unit for libraries that are made of other libraries only. */
typedef int llrt_no_empty_translation_unit;
