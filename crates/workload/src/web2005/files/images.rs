//! The fixed files that pages embed: sizes, and how often a browser has them already.

/// Size in bytes, and per cent of fetches that are conditional and must be answered 304.
type SizeAnd304 = (u32, u8);

/// A file that a page embeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageUse {
    /// Folder below `images/`, empty or with a slash at its end.
    pub folder: &'static str,
    /// Its number in the folder, from 1.
    pub number: u8,
    /// Bytes.
    pub size: u32,
    /// Per cent of fetches that are conditional and must be answered 304.
    pub p304_percent: u8,
}

/// Files of one folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folder {
    /// As [`ImageUse::folder`].
    pub(super) name: &'static str,
    /// Number 1 first.
    pub(super) files: &'static [SizeAnd304],
}

impl Folder {
    /// The file of a number; nothing where there is none.
    pub(super) fn image(self, number: u8) -> Option<ImageUse> {
        let (size, p304_percent) = *self.files.get(usize::from(number).checked_sub(1)?)?;
        Some(ImageUse {
            folder: self.name,
            number,
            size,
            p304_percent,
        })
    }

    /// Every file.
    pub(super) fn images(self) -> impl Iterator<Item = ImageUse> {
        (1..=u8::MAX).map_while(move |number| self.image(number))
    }
}

/// Of banking. The last five are in the set, but no page embeds them.
pub(super) static BANKING: [SizeAnd304; 44] = [
    (806, 50),
    (246, 40),
    (43, 40),
    (1140, 50),
    (36_789, 33),
    (764, 33),
    (1522, 70),
    (858, 60),
    (216, 30),
    (205, 20),
    (316, 10),
    (52, 0),
    (1285, 0),
    (694, 10),
    (676, 50),
    (778, 10),
    (488, 30),
    (764, 0),
    (731, 0),
    (1059, 0),
    (224, 0),
    (208, 20),
    (952, 0),
    (646, 0),
    (353, 0),
    (915, 0),
    (234, 0),
    (1043, 0),
    (1178, 0),
    (1024, 0),
    (1170, 0),
    (102, 50),
    (603, 10),
    (943, 0),
    (11_838, 0),
    (6481, 0),
    (12_836, 0),
    (10_868, 0),
    (11_405, 0),
    (5792, 0),
    (10_905, 0),
    (5458, 0),
    (11_731, 0),
    (10_757, 0),
];

/// Of the e-commerce page `index`.
pub(super) static INDEX: [SizeAnd304; 25] = [
    (43, 30),
    (48, 30),
    (54, 30),
    (78, 30),
    (82, 20),
    (147, 30),
    (166, 30),
    (167, 30),
    (173, 30),
    (187, 30),
    (592, 30),
    (616, 30),
    (738, 30),
    (1022, 30),
    (1186, 30),
    (1259, 30),
    (1360, 30),
    (1550, 30),
    (1593, 30),
    (1761, 30),
    (1809, 30),
    (18_346, 20),
    (19_207, 20),
    (21_838, 20),
    (22_612, 20),
];

/// Of the e-commerce page `search`.
pub(super) static SEARCH: [SizeAnd304; 7] = [
    (43, 30),
    (67, 30),
    (185, 30),
    (205, 30),
    (370, 30),
    (523, 30),
    (1731, 30),
];

/// Of the e-commerce page `browse`.
pub(super) static BROWSE: [SizeAnd304; 25] = [
    (443, 30),
    (59, 30),
    (62, 30),
    (63, 30),
    (71, 30),
    (132, 30),
    (175, 30),
    (224, 30),
    (243, 30),
    (523, 30),
    (917, 30),
    (1167, 30),
    (1347, 30),
    (1402, 30),
    (1480, 30),
    (1504, 30),
    (1621, 30),
    (1738, 30),
    (2208, 20),
    (11_918, 20),
    (11_972, 20),
    (14_408, 20),
    (14_525, 20),
    (14_748, 20),
    (15_750, 20),
];

/// Of the e-commerce page `browse_productline`.
pub(super) static BROWSE_PRODUCTLINE: [SizeAnd304; 12] = [
    (49, 30),
    (72, 30),
    (185, 30),
    (1423, 30),
    (2176, 30),
    (3140, 10),
    (6828, 10),
    (8210, 10),
    (9461, 10),
    (10_633, 10),
    (10_774, 10),
    (11_044, 10),
];

/// Of the e-commerce page `productdetail`.
pub(super) static PRODUCTDETAIL: [SizeAnd304; 10] = [
    (43, 30),
    (58, 30),
    (71, 30),
    (49, 30),
    (121, 30),
    (132, 30),
    (187, 30),
    (187, 30),
    (2154, 10),
    (3521, 10),
];

/// Of the three e-commerce pages of customization.
pub(super) static CUSTOMIZE: [SizeAnd304; 9] = [
    (43, 30),
    (43, 30),
    (49, 30),
    (95, 30),
    (114, 30),
    (370, 30),
    (1373, 10),
    (1936, 10),
    (1994, 10),
];

/// Of the e-commerce page `cart`.
pub(super) static CART: [SizeAnd304; 40] = [
    (43, 0),
    (43, 0),
    (43, 0),
    (44, 0),
    (44, 0),
    (48, 0),
    (50, 0),
    (57, 0),
    (61, 0),
    (65, 0),
    (82, 0),
    (83, 0),
    (91, 0),
    (97, 0),
    (98, 0),
    (130, 0),
    (136, 0),
    (223, 0),
    (243, 0),
    (251, 0),
    (274, 0),
    (278, 0),
    (280, 0),
    (283, 0),
    (319, 0),
    (329, 0),
    (362, 0),
    (363, 0),
    (385, 0),
    (523, 0),
    (621, 0),
    (1848, 0),
    (1980, 0),
    (7894, 0),
    (8240, 0),
    (8255, 0),
    (8484, 0),
    (8886, 0),
    (8914, 0),
    (43, 0),
];

/// Of the e-commerce page `login`.
pub(super) static LOGIN: [SizeAnd304; 21] = [
    (43, 0),
    (43, 0),
    (43, 0),
    (44, 0),
    (48, 0),
    (59, 0),
    (59, 0),
    (59, 0),
    (60, 0),
    (65, 0),
    (82, 0),
    (83, 0),
    (97, 0),
    (102, 0),
    (136, 0),
    (217, 0),
    (356, 0),
    (385, 0),
    (523, 0),
    (1648, 0),
    (1913, 0),
];

/// Of the e-commerce page `shipping`.
pub(super) static SHIPPING: [SizeAnd304; 5] = [(61, 0), (378, 0), (515, 0), (518, 0), (922, 0)];

/// Of the e-commerce page `billing`.
pub(super) static BILLING: [SizeAnd304; 5] = [(50, 0), (159, 0), (519, 0), (897, 0), (1069, 0)];

/// Of the e-commerce page `confirm`.
pub(super) static CONFIRM: [SizeAnd304; 13] = [
    (43, 0),
    (44, 0),
    (80, 0),
    (92, 0),
    (97, 0),
    (98, 0),
    (130, 0),
    (135, 0),
    (135, 0),
    (135, 0),
    (223, 0),
    (586, 0),
    (1120, 0),
];

/// Of support.
pub(super) static SUPPORT: [SizeAnd304; 31] = [
    (30, 66),
    (30, 66),
    (810, 66),
    (60, 80),
    (50, 66),
    (50, 80),
    (270, 75),
    (130, 80),
    (110, 66),
    (80, 66),
    (90, 66),
    (90, 66),
    (90, 66),
    (4180, 80),
    (700, 66),
    (1830, 66),
    (1510, 80),
    (110, 66),
    (70, 66),
    (60, 66),
    (250, 66),
    (360, 66),
    (40, 80),
    (5670, 80),
    (80, 66),
    (980, 50),
    (1920, 0),
    (240, 0),
    (260, 0),
    (260, 0),
    (2170, 0),
];
